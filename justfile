# What one does here every day. `just` lists it.

_default:
    @just --list

# Try it on sample data.
run *arguments:
    cargo run --release -- demo {{arguments}}

# Everything that CI runs.
ci:
    bash .ci/run

# All tests, against a real PostgreSQL that they start themselves.
test *arguments:
    bash tests/run.sh {{arguments}}

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Accept changed snapshots after looking at them.
bless:
    INSTA_UPDATE=always cargo test --workspace

# What becomes of it at five times its capacity; PORTICO_BENCH is the URL of a PostgreSQL database.
overload:
    cargo run --release --example overload

# Mixed load with every answer checked: --minutes N, --callers N, --postgres URL for a database that fails now and then.
soak *arguments:
    cargo run --release --example soak -- {{arguments}}

# What a thousand configured connections cost: memory, start and latency.
many *arguments:
    cargo build --release --bin portico --example many_connections
    target/release/examples/many_connections {{arguments}}

# The figures of the README.
bench:
    cargo run --release --example bench
    cargo run --release --example token_rate

# What systemd says of the units.
units:
    bash packaging/systemd/check.sh target/debug/portico

# Build the Debian package and try it on a fresh Debian in a container. Needs cargo-deb, root, debootstrap and systemd-nspawn.
deb profile="release":
    PROFILE={{profile}} bash packaging/trial/run.sh
