"""Where others work: AnnData and MuData, streams of river. Each needs an extra of its own."""
