"""Whether accuracies tell which tasks they were made on."""
