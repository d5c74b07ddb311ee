"""The solver that satisfies UᵀU = I and U ≥ 0 exactly."""
