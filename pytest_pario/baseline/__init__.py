"""The verdict: nights in a store, statistics on arrays, and a judge. Knows neither MPI nor pytest."""
