SELECT p.sku, p.name, sum(l.quantity) AS pieces,
       round(sum((l.quantity * l.unit_price - l.discount) / o.euro_rate), 2) AS revenue_euro
  FROM order_lines AS l
  JOIN products AS p ON p.id = l.product_id
  JOIN orders AS o ON o.id = l.order_id
  JOIN customers AS c ON c.id = o.customer_id
 WHERE o.status <> 'cancelled' AND (@country IS NULL OR c.country = @country)
 GROUP BY p.id
 ORDER BY pieces DESC, revenue_euro DESC, p.sku
 LIMIT max(coalesce(@top, 10), 0)
