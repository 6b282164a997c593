CREATE INDEX contacts_agent ON contacts (agent_id);
CREATE INDEX tickets_customer ON tickets (customer_id, opened_at);
CREATE INDEX tickets_order ON tickets (order_id);
CREATE INDEX tickets_status ON tickets (status, priority);
