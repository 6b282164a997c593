//! Several servers under one address: which one is taken, and what happens when they change roles.

use std::time::Duration;

use portico_actors::error::{Error, Kind};
use portico_actors::source::Access;
use tokio_postgres::Client;

use crate::support::app::eventually;
use crate::support::cluster::Cluster;
use crate::support::postgres::connect;
use crate::support::results::{Subject, plan};

fn url(hosts: &[u16], rest: &str) -> String {
    let hosts: Vec<String> = hosts.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://postgres@{}/postgres{rest}", hosts.join(","))
}

/// The port of the server behind a session.
async fn port(subject: &Subject) -> Result<u16, Error> {
    let rows = subject.read("SELECT inet_server_port()").await?.rows;
    Ok(rows[0][0].parse().unwrap())
}

async fn until_replicating(primary: &Client) {
    let question = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    eventually("the standby", async || primary.query_one(question, &[]).await.unwrap().get::<_, i64>(0) != 0).await;
}

#[tokio::test]
async fn sessions_go_where_they_will_do_and_follow_a_failover() {
    let first = Cluster::new();
    first.obey("start");
    let admin = connect(&first.url("postgres", "postgres")).await;
    admin.batch_execute("CREATE TABLE item (id int PRIMARY KEY)").await.unwrap();
    let second = Cluster::standby_of(&first);
    second.obey("start");
    until_replicating(&admin).await;

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (primary, standby) = (first.port, second.port);
    for (hosts, attributes, taken) in [
        ([nobody, primary, standby], "any", primary),
        ([nobody, standby, primary], "any", standby),
        ([standby, nobody, primary], "read-write", primary),
        ([standby, nobody, primary], "primary", primary),
        ([primary, nobody, standby], "read-only", standby),
        ([primary, nobody, standby], "standby", standby),
        ([primary, nobody, standby], "prefer-standby", standby),
        ([nobody, nobody, primary], "prefer-standby", primary),
    ] {
        let subject = Subject::open(&url(&hosts, &format!("?target_session_attrs={attributes}")), 1);
        assert_eq!(port(&subject).await.unwrap(), taken, "{attributes} of {hosts:?}");
    }
    for (hosts, attributes, why) in [
        (vec![standby], "read-write", "does not allow writes"),
        (vec![standby], "primary", "is a standby"),
        (vec![primary], "read-only", "allows writes"),
        (vec![primary, nobody], "standby", "is a primary"),
    ] {
        let subject = Subject::open(&url(&hosts, &format!("?target_session_attrs={attributes}")), 1);
        let failure = subject.source.ping().await.unwrap_err();
        assert_eq!(failure.kind, Kind::Unavailable);
        assert!(failure.cause().unwrap().contains(why), "{failure:?}");
    }
    // In any order, both are found.
    let mut seen = [false, false];
    while seen != [true, true] {
        let taken = port(&Subject::open(&url(&[primary, standby], "?load_balance_hosts=random"), 1)).await.unwrap();
        seen[usize::from(taken == standby)] = true;
    }

    // Whoever did not ask for a primary is told what is wrong.
    let lost = Subject::open(&url(&[standby], ""), 1);
    let refused = lost.write("INSERT INTO item VALUES (0)").await.unwrap_err();
    assert_eq!((refused.kind, refused.get_sqlstate()), (Kind::Forbidden, Some("25006")), "{refused:?}");
    assert!(refused.get_hint().unwrap().contains("target_session_attrs"));

    // The roles change.
    let writer = Subject::open(&url(&[primary, standby], "?target_session_attrs=read-write"), 2);
    writer.source.ping().await.unwrap();
    writer.write("INSERT INTO item VALUES (1)").await.unwrap();
    first.obey("stop");
    let failure = writer.write("INSERT INTO item VALUES (2)").await.unwrap_err();
    assert_eq!(failure.kind, Kind::Unavailable, "{failure:?}");
    second.obey("promote");
    writer.source.ping().await.unwrap();
    writer.write("INSERT INTO item VALUES (2)").await.unwrap();
    assert_eq!(port(&writer).await.unwrap(), standby);
    assert_eq!(writer.read("SELECT id FROM item ORDER BY id").await.unwrap().rows, [["1"], ["2"]]);
}

#[tokio::test]
async fn a_server_that_may_no_longer_write_is_left() {
    let (first, second) = (Cluster::new(), Cluster::new());
    for cluster in [&first, &second] {
        cluster.obey("start");
        connect(&cluster.url("postgres", "postgres")).await.batch_execute("CREATE TABLE item (id int)").await.unwrap();
    }
    let writer = Subject::open(&url(&[first.port, second.port], "?target_session_attrs=read-write"), 2);
    writer.write("INSERT INTO item VALUES (1)").await.unwrap();
    assert_eq!(port(&writer).await.unwrap(), first.port);
    // A reader's own transaction says the same of its writes, whatever the server is.
    let refused = writer.source.run(plan("INSERT INTO item VALUES (0)", Access::ReadOnly)).await.unwrap_err();
    assert_eq!((refused.kind, refused.get_sqlstate()), (Kind::Forbidden, Some("25006")), "{refused:?}");
    assert_eq!(port(&writer).await.unwrap(), first.port);
    // Demoted without its sessions being cut: what happens behind an address that moves.
    let admin = connect(&first.url("postgres", "postgres")).await;
    admin
        .batch_execute(
            "CREATE FUNCTION demoted() RETURNS trigger LANGUAGE plpgsql AS
             $$BEGIN RAISE SQLSTATE '25006' USING MESSAGE = 'cannot execute INSERT in a read-only transaction'; END$$;
             CREATE TRIGGER demoted BEFORE INSERT ON item EXECUTE FUNCTION demoted();
             ALTER DATABASE postgres SET default_transaction_read_only = on",
        )
        .await
        .unwrap();
    let failure = writer.write("INSERT INTO item VALUES (2)").await.unwrap_err();
    assert_eq!((failure.kind, failure.get_sqlstate()), (Kind::Unavailable, Some("25006")), "{failure:?}");
    assert_eq!(failure.get_retry_after(), Some(Duration::from_secs(1)));
    writer.write("INSERT INTO item VALUES (2)").await.unwrap();
    assert_eq!(port(&writer).await.unwrap(), second.port, "its successor was found");
    // Who only reads stays where it is.
    let reader = Subject::open(&url(&[first.port], "?target_session_attrs=any"), 1);
    let refused = reader.source.run(plan("INSERT INTO item VALUES (3)", Access::ReadOnly));
    assert_eq!(refused.await.unwrap_err().kind, Kind::Forbidden);
}
