"""The life of a bake-off: request, plan, launch, publish, follow, conclude, recover."""
