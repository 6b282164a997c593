UPDATE orders SET note = @note WHERE id = @order_id
RETURNING id AS order_id, customer_id, ordered_at, status, note
