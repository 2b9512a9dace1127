"""The work of the service: queues that serve clients in turns, the threads that empty them, and what each job costs."""
