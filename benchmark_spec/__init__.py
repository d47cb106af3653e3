"""What FSLBench promises: protocols, schemas, digests, manifests, the catalogue and errors."""
