//! The soak test's calls of the SQL API and of the token endpoint.

use serde_json::{Value, json};

use super::ledger::{Fault, Outcome};
use super::service::{Caller, NUMBERS, amount, results, rows, same, whole, word};

const RANGE: &str = "SELECT id, word, amount FROM soak_numbers WHERE id >= @lowest AND id < @most ORDER BY id";
const INSERT: &str = "INSERT INTO soak_kept (caller, number, word) VALUES (@caller, @number, @word)";
/// Rows of its own from which on a caller deletes them.
const KEPT: usize = 300;

/// One call, whose kind is told as soon as it is chosen.
pub(crate) async fn call(caller: &mut Caller, at: usize, kind: &mut &'static str) -> Outcome {
    let kinds = [
        "read", "stream", "bound", "write", "own rows", "batch", "script", "undone", "exec", "metadata", "csv",
        "ndjson", "refused", "sample", "token",
    ];
    *kind = kinds[usize::try_from(caller.dice.below(kinds.len() as u64)).unwrap()];
    match *kind {
        "read" => read(caller, at).await,
        "stream" => stream(caller, at).await,
        "bound" => bound(caller, at).await,
        "write" => write(caller, at).await,
        "own rows" => own_rows(caller, at).await,
        "batch" => batch(caller, at).await,
        "script" => script(caller, at).await,
        "undone" => undone(caller, at).await,
        "exec" => exec(caller, at).await,
        "metadata" => metadata(caller, at).await,
        "csv" => csv(caller, at).await,
        "ndjson" => ndjson(caller, at).await,
        "refused" => refused(caller, at).await,
        "sample" => sample(caller).await,
        _ => token(caller).await,
    }
}

/// The only result's rows are these, and nothing was changed.
fn only(results: &[Value], expected: &Value) -> Outcome {
    let [result] = results else { return Err(Fault::wrong("more or less than one result", json!(results))) };
    if same(&result["rows"], expected) && result["affectedRows"] == -1 {
        return Ok(());
    }
    Err(Fault::wrong(format!("not the rows {expected:.300}"), result))
}

async fn read(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(50);
    let query = format!("SELECT id, word, amount FROM soak_numbers WHERE id >= {lowest} AND id < {most} ORDER BY id");
    only(&caller.query(at, &query, json!({})).await?, &rows(lowest, most))
}

async fn stream(caller: &mut Caller, at: usize) -> Outcome {
    let query = "SELECT id, word, amount FROM soak_numbers ORDER BY id";
    only(&caller.query(at, query, json!({})).await?, &rows(1, NUMBERS + 1))
}

async fn bound(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(50);
    let query =
        "SELECT id, word, amount FROM soak_numbers WHERE id >= @lowest AND id < @most AND word <> @odd ORDER BY id";
    let odd = "x'; DROP TABLE soak_numbers; --";
    let values = json!({"@lowest": {"dataType": 8, "value": lowest}, "most": most, "@odd": {"value": odd}});
    only(&caller.query(at, query, values).await?, &rows(lowest, most))
}

/// What became of rows that were to be inserted: they are there, they are not, or nobody knows.
fn settle<T>(caller: &mut Caller, at: usize, numbers: &[i64], ended: &Outcome<T>) {
    let own = &mut caller.own[at];
    match ended {
        Ok(_) => own.certain.extend(numbers),
        Err(_) => own.uncertain.extend(numbers),
    }
}

/// Numbers that this caller has not used yet.
fn fresh(caller: &mut Caller, at: usize, count: i64) -> Vec<i64> {
    let own = &mut caller.own[at];
    own.next += count;
    (own.next - count..own.next).collect()
}

/// Each result is of one row that was changed.
fn each_changed(results: &[Value], count: usize) -> Outcome {
    if results.len() == count && results.iter().all(|result| result["affectedRows"] == 1) {
        return Ok(());
    }
    Err(Fault::wrong(format!("not {count} changed rows"), json!(results)))
}

async fn write(caller: &mut Caller, at: usize) -> Outcome {
    let numbers = fresh(caller, at, 1);
    let values = json!({"caller": caller.number, "number": numbers[0], "word": word(numbers[0])});
    let ended = caller.query(at, INSERT, values).await;
    settle(caller, at, &numbers, &ended);
    each_changed(&ended?, 1)
}

async fn batch(caller: &mut Caller, at: usize) -> Outcome {
    let numbers = fresh(caller, at, 20);
    let sets: Vec<Value> = numbers.iter().map(|number| json!([caller.number, number, word(*number)])).collect();
    let ended = caller.api("/api/batch", at, json!({"query": INSERT, "parameters": sets})).await;
    settle(caller, at, &numbers, &ended);
    each_changed(&ended?, 20)
}

/// Two statements are one transaction, and the second sees what the first did.
async fn script(caller: &mut Caller, at: usize) -> Outcome {
    let numbers = fresh(caller, at, 1);
    let query = format!("{INSERT}; SELECT word FROM soak_kept WHERE caller = @caller AND number = @number");
    let values = json!({"caller": caller.number, "number": numbers[0], "word": word(numbers[0])});
    let ended = caller.query(at, &query, values).await;
    settle(caller, at, &numbers, &ended);
    let results = ended?;
    each_changed(&results[..1], 1)?;
    only(&results[1..], &json!([[word(numbers[0])]]))
}

/// A batch whose last set violates the key leaves nothing behind, which `own_rows` sees.
async fn undone(caller: &mut Caller, at: usize) -> Outcome {
    let numbers = fresh(caller, at, 3);
    let mut sets: Vec<Value> = numbers.iter().map(|number| json!([caller.number, number, "never"])).collect();
    sets.push(sets[0].clone());
    match caller.api("/api/batch", at, json!({"query": INSERT, "parameters": sets})).await {
        Err(Fault::Error(1401, text)) if text.contains("parameters[3]") => Ok(()),
        Err(fault) => Err(fault),
        Ok(results) => Err(Fault::wrong("a key was given twice", json!(results))),
    }
}

/// Everything that was acknowledged is there, and nothing that was not sent. Now and then it is
/// deleted.
async fn own_rows(caller: &mut Caller, at: usize) -> Outcome {
    let query = "SELECT number, word FROM soak_kept WHERE caller = @caller ORDER BY number";
    let results = caller.query(at, query, json!({"caller": caller.number})).await?;
    let own = &mut caller.own[at];
    let mut found = std::collections::BTreeSet::new();
    for row in results[0]["rows"].as_array().into_iter().flatten() {
        let number = row[0].as_i64().unwrap_or(-1);
        let known = own.certain.contains(&number) || own.uncertain.contains(&number);
        if !known || row[1] != word(number) || !found.insert(number) {
            return Err(Fault::wrong("a row that was not written", row));
        }
    }
    let lost: Vec<_> = own.certain.difference(&found).collect();
    if !lost.is_empty() {
        return Err(Fault::wrong("acknowledged rows are lost", format!("{lost:?}")));
    }
    if found.len() < KEPT {
        return Ok(());
    }
    // Until it is known that they are gone, it is not known that they are there. What was uncertain
    // before stays so: it may still be on its way.
    let sent = std::mem::take(&mut own.certain);
    let (lowest, most) = (found.len(), sent.len() + own.uncertain.len());
    let delete = "DELETE FROM soak_kept WHERE caller = @caller";
    let results = match caller.query(at, delete, json!({"caller": caller.number})).await {
        Ok(results) => results,
        Err(fault) => {
            caller.own[at].uncertain.extend(sent);
            return Err(fault);
        }
    };
    let count = results[0]["affectedRows"].as_i64().and_then(|count| usize::try_from(count).ok());
    match count {
        Some(count) if (lowest..=most).contains(&count) => Ok(()),
        _ => Err(Fault::wrong(format!("not {lowest} to {most} rows deleted"), json!(results))),
    }
}

async fn exec(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(50);
    let body =
        json!({"procedure": "soak_range", "parameters": {"@lowest": {"dataType": 8, "value": lowest}, "most": most}});
    only(&caller.api("/api/exec", at, body).await?, &rows(lowest, most))
}

async fn metadata(caller: &mut Caller, at: usize) -> Outcome {
    let (url, name) = (&caller.service.url, caller.service.targets[at].name);
    let request = caller.http.get(format!("{url}/api/columns?catalogName={name}&tableName=soak_numbers"));
    let results = results(&whole(caller.sign(request)).await?)?;
    let rows = results[0]["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&Value> = rows.iter().map(|row| &row[3]).collect();
    if names == ["id", "word", "amount"] { Ok(()) } else { Err(Fault::wrong("other columns", json!(results))) }
}

async fn csv(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(200);
    let body = json!({"query": RANGE, "parameters": {"lowest": lowest, "most": most}});
    let text = caller.text("/api/query", at, "text/csv", body).await?;
    let line = |id| format!("{id},\"{}\",{}\r\n", word(id).replace('"', "\"\""), amount(id));
    let expected = "id,word,amount\r\n".to_owned() + &(lowest..most).map(line).collect::<String>();
    if text == expected { Ok(()) } else { Err(Fault::wrong(format!("not the text {expected:.300}"), text)) }
}

async fn ndjson(caller: &mut Caller, at: usize) -> Outcome {
    let (lowest, most) = caller.dice.range(200);
    let body = json!({"query": RANGE, "parameters": {"lowest": lowest, "most": most}});
    let text = caller.text("/api/query", at, "application/x-ndjson", body).await?;
    let line = |id| format!("{{\"id\":{id},\"word\":{},\"amount\":{}}}\n", json!(word(id)), amount(id));
    let expected: String = (lowest..most).map(line).collect();
    if text == expected {
        return Ok(());
    }
    // A failure after the first row is told in a line of its own.
    let last = text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    match last["error"]["code"].as_i64() {
        Some(code) => Err(Fault::Error(code, last.to_string())),
        None => Err(Fault::wrong(format!("not the text {expected:.300}"), text)),
    }
}

async fn refused(caller: &mut Caller, at: usize) -> Outcome {
    match caller.query(at, "SELECT nothing_of_the_kind FROM soak_numbers", json!({})).await {
        Err(Fault::Error(1400, _)) => Ok(()),
        Err(fault) => Err(fault),
        Ok(results) => Err(Fault::wrong("there is no such column", json!(results))),
    }
}

/// The sample's own rows, which are the same ones on every machine.
async fn sample(caller: &mut Caller) -> Outcome {
    let query = "SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders), count(*) FROM products";
    only(&caller.query(0, query, json!({})).await?, &json!([[2000, 12_000, 300]]))
}

/// A token is issued and opens the connections of its account.
async fn token(caller: &mut Caller) -> Outcome {
    let service = &caller.service;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", &service.client_id),
        ("client_secret", &service.client_secret),
    ];
    let issued = whole(caller.http.post(format!("{}/oauth/token", service.url)).form(&form)).await?;
    let issued: Value = serde_json::from_str(&issued).map_err(|error| Fault::wrong(error, &issued))?;
    let Some(token) = issued["access_token"].as_str() else {
        return Err(Fault::Wrong("an answer without a token".to_owned()));
    };
    let text = whole(caller.http.get(format!("{}/api/connections", service.url)).bearer_auth(token)).await?;
    if service.targets.iter().all(|target| text.contains(&target.id.to_string())) {
        return Ok(());
    }
    Err(Fault::wrong("not all connections", text))
}
