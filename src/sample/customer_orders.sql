SELECT order_id, ordered_at, status, currency, lines, total, paid
  FROM order_totals
 WHERE customer_id = @customer_id AND (@since IS NULL OR ordered_at >= @since)
 ORDER BY ordered_at DESC, order_id DESC
