"""What runs inside a shard: agents over a chat-completions endpoint, their tools, and the files they leave behind."""
