//! `[telemetry]`, and the environment variables that OpenTelemetry specifies for it. Those that are not read here
//! are read by its SDK.

use url::Url;

use crate::config::declared::section::Section;
use crate::config::declared::setting::TEXT;
use crate::config::declared::table::{Table, settings};

settings! {
    /// Where traces go by OTLP, with a build that has the feature otel; else this table is refused.
    pub(in crate::config) struct TelemetrySettings {
        /// An address that takes HTTP with protobuf; /v1/traces is put behind it.
        otlp_endpoint: Option<String> = TEXT.example("\"http://127.0.0.1:4318\"").checked(
            |text| traces_of(text).is_some(),
            "this is not the address of an OTLP receiver",
            "write it as \"http://127.0.0.1:4318\"; /v1/traces is put behind it",
        ),
    }
}

/// What is sent to where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Where traces go; none where none are recorded.
    pub traces: Option<Otlp>,
}

/// A receiver of OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otlp {
    /// Where it takes traces; where the file does not say so, the environment does.
    pub endpoint: Option<String>,
    /// Spans that wait for being sent, at most.
    pub queue: usize,
}

/// Whether this build can send traces.
const AVAILABLE: bool = cfg!(feature = "otel");
/// The variables that each name a receiver.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The variables that select the protocol, by precedence.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const QUEUE: &str = "OTEL_BSP_MAX_QUEUE_SIZE";
/// The specification's default.
const DEFAULT_QUEUE: usize = 2048;
const LARGEST_QUEUE: usize = 1_000_000;

/// Reads the table.
pub(in crate::config) fn read(root: &Section<'_>) -> Telemetry {
    let section = root.table("telemetry");
    let given = TelemetrySettings::read(&section).otlp_endpoint;
    if given.is_some() && !AVAILABLE {
        let remedy = "build it with `cargo build --release --features otel`, or leave the key out";
        section.problem("otlp_endpoint", "this build of Portico sends no traces", remedy);
    }
    let endpoint = given.as_deref().and_then(traces_of);
    let variable = |name: &str| section.environment(name).filter(|value| !value.is_empty());
    let named = given.is_some() || ENDPOINTS.iter().any(|name| variable(name).is_some());
    // A build without telemetry ignores variables that are set for all programs of a machine.
    if !AVAILABLE || !named || variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Telemetry::default();
    }
    match variable(EXPORTER).as_deref() {
        None | Some("otlp") => {}
        Some("none") => return Telemetry::default(),
        Some(other) => {
            let message = format!("the environment's {EXPORTER} is {other:?}, and traces are sent by OTLP alone");
            section.elsewhere("telemetry", message, "set it to otlp, or to none for no traces");
        }
    }
    let protocol = PROTOCOLS.iter().find_map(|name| Some((name, variable(name)?)));
    if let Some((name, protocol)) = protocol.filter(|(_, protocol)| protocol != "http/protobuf") {
        let message = format!("the environment's {name} is {protocol:?}, which is not spoken here");
        section.elsewhere("telemetry", message, "set it to http/protobuf; the usual port is 4318");
    }
    let queue = variable(QUEUE).map_or(Some(DEFAULT_QUEUE), |value| value.parse().ok());
    let queue = queue.filter(|queue| (1..=LARGEST_QUEUE).contains(queue)).unwrap_or_else(|| {
        let message = format!("the environment's {QUEUE} is not a number of spans from 1 to {LARGEST_QUEUE}");
        section.elsewhere("telemetry", message, "correct it, or unset it for 2048");
        DEFAULT_QUEUE
    });
    Telemetry { traces: Some(Otlp { endpoint, queue }) }
}

/// Where the receiver at `base` takes traces, as the specification builds it.
fn traces_of(base: &str) -> Option<String> {
    let url = Url::parse(base).ok()?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.has_host();
    let fits = matches!(url.scheme(), "http" | "https") && plain;
    fits.then(|| format!("{}/v1/traces", url.as_str().trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    /// The part common to all configurations.
    const REST: &str =
        "\n[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"shop\"\nurl = \"sqlite:x.db\"\n";

    fn parse(text: &str, variables: &[(&str, &str)]) -> Result<Telemetry, String> {
        let found = |name: &str| variables.iter().find(|(each, _)| *each == name).map(|(_, value)| (*value).to_owned());
        let text = format!("{text}{REST}");
        Config::parse(&text, Path::new("/"), &found).map(|config| config.telemetry).map_err(|wrong| wrong.to_string())
    }

    const FILE: &str = "[telemetry]\notlp_endpoint = \"http://127.0.0.1:4318/\"\n";

    #[test]
    fn an_address_of_a_receiver_is_judged() {
        assert_eq!(traces_of("http://127.0.0.1:4318").as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
        assert_eq!(traces_of("https://a.example/otlp/").as_deref(), Some("https://a.example/otlp/v1/traces"));
        for wrong in ["", "127.0.0.1:4318", "grpc://a.example", "http://a.example?key=1", "file:///tmp/a"] {
            assert_eq!(traces_of(wrong), None, "{wrong}");
        }
    }

    #[cfg(not(feature = "otel"))]
    #[test]
    fn a_build_without_traces_says_so() {
        let said = parse(FILE, &[]).unwrap_err();
        assert!(said.contains("telemetry.otlp_endpoint") && said.contains("--features otel"), "{said}");
        let everywhere = [(ENDPOINTS[1], "http://127.0.0.1:4318"), (PROTOCOLS[1], "grpc")];
        assert_eq!(parse("", &everywhere), Ok(Telemetry::default()));
    }

    #[cfg(feature = "otel")]
    #[test]
    fn otel_variables_are_respected_and_what_cannot_be_is_told() {
        let to = |endpoint: Option<&str>, queue| Telemetry {
            traces: Some(Otlp { endpoint: endpoint.map(str::to_owned), queue }),
        };
        let ours = Some("http://127.0.0.1:4318/v1/traces");
        assert_eq!(parse("", &[]), Ok(Telemetry::default()));
        assert_eq!(parse(FILE, &[]), Ok(to(ours, 2048)));
        assert_eq!(parse(FILE, &[(QUEUE, "7"), (PROTOCOLS[1], "http/protobuf")]), Ok(to(ours, 7)));
        assert_eq!(parse("", &[(ENDPOINTS[1], "http://a.example")]), Ok(to(None, 2048)));
        for off in [("OTEL_SDK_DISABLED", "True"), (EXPORTER, "none")] {
            assert_eq!(parse(FILE, &[off]), Ok(Telemetry::default()), "{off:?}");
        }
        for wrong in [(EXPORTER, "zipkin"), (PROTOCOLS[0], "grpc"), (QUEUE, "0"), (QUEUE, "many")] {
            let said = parse(FILE, &[wrong]).unwrap_err();
            assert!(said.contains(wrong.0), "{said}");
        }
        assert!(parse("[telemetry]\notlp_endpoint = \"localhost\"", &[]).unwrap_err().contains("/v1/traces"));
    }
}
