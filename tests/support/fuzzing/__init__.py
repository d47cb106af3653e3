"""What the fuzzer runs, and what replays its corpus: no more than pyarrow is needed."""
