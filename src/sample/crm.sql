CREATE TABLE agents ( -- People of the shop who answer customers.
    id INTEGER PRIMARY KEY, -- Number of the agent.
    name VARCHAR(80) NOT NULL, -- Given and family name, in the agent's own script.
    team VARCHAR(20) NOT NULL CHECK (team IN ('delivery', 'payments', 'products')), -- What they answer to: delivery, payments or products.
    country VARCHAR(40) NOT NULL -- Where they work, by the country's English name.
);

CREATE TABLE contacts ( -- What is known of customers who were in touch beyond their orders.
    customer_id INTEGER PRIMARY KEY, -- The customer's number in the shop (customers.id there).
    segment VARCHAR(10) NOT NULL CHECK (segment IN ('new', 'regular', 'loyal', 'lapsed')), -- New, regular, loyal or lapsed, by orders and time.
    language CHAR(2) NOT NULL CHECK (length(language) = 2), -- ISO 639-1 code of the language that they are answered in.
    agent_id INTEGER NOT NULL REFERENCES agents (id), -- Who answers them as a rule.
    first_contact_at TIMESTAMP NOT NULL -- When they first wrote or called, in UTC.
);

CREATE TABLE tickets ( -- What customers asked for or complained of.
    id INTEGER PRIMARY KEY, -- Number of the ticket, in the order of their coming.
    customer_id INTEGER NOT NULL REFERENCES contacts (customer_id), -- Who asks: the customer's number in the shop.
    order_id INTEGER, -- The order that it is about (orders.id in the shop); NULL where it is about none.
    agent_id INTEGER NOT NULL REFERENCES agents (id), -- Who answers.
    channel VARCHAR(6) NOT NULL CHECK (channel IN ('email', 'phone', 'chat')), -- Email, phone or chat.
    topic VARCHAR(10) NOT NULL CHECK (topic IN ('delivery', 'damage', 'return', 'payment', 'question')), -- Delivery, damage, return, payment or question.
    priority INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 3), -- From 1, the most urgent, to 3.
    status VARCHAR(8) NOT NULL CHECK (status IN ('open', 'waiting', 'solved')), -- Open, waiting for the customer, or solved.
    opened_at TIMESTAMP NOT NULL, -- When it came in, in UTC.
    solved_at TIMESTAMP, -- When it was solved, in UTC; NULL before.
    rating INTEGER CHECK (rating BETWEEN 1 AND 5), -- How content the customer was, from 1 to 5; NULL where they did not say.
    CHECK ((status = 'solved') = (solved_at IS NOT NULL))
);
