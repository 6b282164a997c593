//! How often one call has PostgreSQL answer, and how many statements it has it plan.

use super::ALONE;
use super::budget::Report;
use super::caller::{self, Client, Scenario};
use super::support::postgres::TestPostgres;
use super::support::wire::Listener;

/// What a session is cleaned with once a second, and the catalogue is read with now and then.
const BESIDE: f64 = 0.15;

/// Round trips of a call, and statements that are parsed for it.
const fn needs(scenario: Scenario) -> (f64, f64) {
    match scenario {
        Scenario::LiteralKey => (1.0, 1.0),
        Scenario::SameText | Scenario::BoundParameter => (1.0, 0.0),
        Scenario::ToolsList => (0.0, 0.0),
    }
}

#[tokio::test]
async fn a_call_has_postgresql_answer_no_more_often_than_its_budget_says() {
    let _alone = ALONE.lock().await;
    let url = TestPostgres::shared().database("trips").await;
    caller::fill(&url).await;
    let listener = Listener::start(&url).await;
    let service = caller::configuration(&listener.url(&url)).serve().await;
    let mut report = Report::new(file!());
    for scenario in Scenario::ALL {
        let (port, by, heard) = (service.port(), service.reader.clone(), listener.clone());
        let calling = move || {
            let mut client = Client::dial(port, &by);
            client.call(scenario, || heard.said(usize::MAX), |_| heard.said(usize::MAX).0)
        };
        let said = tokio::task::spawn_blocking(calling).await.unwrap();
        let (trips, parsed) = needs(scenario);
        for (what, tags, needed) in
            [("round trips (Sync, Query)", ['S', 'Q'], trips), ("statements parsed (Parse, Query)", ['P', 'Q'], parsed)]
        {
            let measured = caller::mean(said.matches(tags).count());
            // Where a call needs one, it has to be heard.
            let compare = if needed > 0.0 { Report::compare } else { Report::bound };
            compare(&mut report, scenario, what, measured, needed + BESIDE);
        }
    }
    report.close();
}
