CREATE INDEX categories_parent ON categories (parent_id);
CREATE INDEX products_category ON products (category_id);
CREATE INDEX customers_country ON customers (country, city);
CREATE INDEX orders_customer ON orders (customer_id, ordered_at);
CREATE INDEX orders_ordered_at ON orders (ordered_at);
CREATE INDEX order_lines_product ON order_lines (product_id);
CREATE INDEX payments_order ON payments (order_id);

CREATE VIEW order_totals ( -- Each order with its total and what was paid of it.
    order_id, -- Number of the order.
    customer_id, -- Who ordered.
    ordered_at, -- When the order came in, in UTC.
    status, -- pending, paid, shipped, delivered or cancelled.
    currency, -- ISO 4217 code of the amounts.
    lines, -- How many different products.
    total, -- Sum of the lines after discounts.
    paid -- Sum of the payments so far; 0 where there are none.
) AS
SELECT o.id, o.customer_id, o.ordered_at, o.status, o.currency,
       count(*),
       round(sum(l.quantity * l.unit_price - l.discount), 2),
       round(coalesce((SELECT sum(p.amount) FROM payments AS p WHERE p.order_id = o.id), 0), 2)
  FROM orders AS o
  JOIN order_lines AS l ON l.order_id = o.id
 GROUP BY o.id;

CREATE VIEW monthly_revenue ( -- What was paid in each month, by currency and in euro.
    month, -- Year and month of the order, as YYYY-MM.
    currency, -- ISO 4217 code of the revenue.
    orders, -- How many paid orders came in that month.
    revenue, -- Their total, in that currency.
    revenue_euro -- The same in euro, at each order's own rate.
) AS
SELECT substr(o.ordered_at, 1, 7), o.currency, count(DISTINCT o.id),
       round(sum(p.amount), 2), round(sum(p.amount / o.euro_rate), 2)
  FROM orders AS o
  JOIN payments AS p ON p.order_id = o.id
 GROUP BY substr(o.ordered_at, 1, 7), o.currency;
