-- The tables of TPC-H with a few rows.
CREATE SCHEMA tpch;
SET search_path = tpch;
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25), r_comment varchar(152));
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25), n_regionkey int REFERENCES region, n_comment varchar(152));
CREATE TABLE part (p_partkey int PRIMARY KEY, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), p_size int,
    p_container char(10), p_retailprice numeric(15, 2), p_comment varchar(23));
CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name char(25), s_address varchar(40), s_nationkey int REFERENCES nation, s_phone char(15),
    s_acctbal numeric(15, 2), s_comment varchar(101));
CREATE TABLE partsupp (ps_partkey int REFERENCES part, ps_suppkey int REFERENCES supplier, ps_availqty int, ps_supplycost numeric(15, 2),
    ps_comment varchar(199), PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name varchar(25), c_address varchar(40), c_nationkey int REFERENCES nation, c_phone char(15),
    c_acctbal numeric(15, 2), c_mktsegment char(10), c_comment varchar(117));
CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int REFERENCES customer, o_orderstatus char(1), o_totalprice numeric(15, 2),
    o_orderdate date, o_orderpriority char(15), o_clerk char(15), o_shippriority int, o_comment varchar(79));
CREATE TABLE lineitem (l_orderkey int REFERENCES orders, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric(15, 2),
    l_extendedprice numeric(15, 2), l_discount numeric(15, 2), l_tax numeric(15, 2), l_returnflag char(1), l_linestatus char(1), l_shipdate date,
    l_commitdate date, l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44), PRIMARY KEY (l_orderkey, l_linenumber));
INSERT INTO region VALUES (1, 'AMERICA', ''), (2, 'ASIA', ''), (3, 'EUROPE', '');
INSERT INTO nation VALUES (1, 'BRAZIL', 1, ''), (2, 'CHINA', 2, ''), (3, 'FRANCE', 3, ''), (4, 'GERMANY', 3, ''), (5, 'CANADA', 1, ''), (6, 'SAUDI ARABIA', 2, '');
INSERT INTO part SELECT i, 'forest green part ' || i, 'Manufacturer#1', 'Brand#' || (12 + i % 3 * 11), 'ECONOMY ANODIZED STEEL', 10 + i % 10, 'MED BOX', 900 + i, ''
    FROM generate_series(1, 30) i;
INSERT INTO supplier SELECT i, 'Supplier#' || i, 'addr', i % 6 + 1, (10 + i)::text || '-111', 1000 * i, 'ordinary' FROM generate_series(1, 6) i;
INSERT INTO partsupp SELECT p, s, 100 * s, 5.5 + s, '' FROM generate_series(1, 30) p, generate_series(1, 6) s;
INSERT INTO customer SELECT i, 'Customer#' || i, 'addr', i % 6 + 1, (10 + i)::text || '-222', 100 * i, 'BUILDING', '' FROM generate_series(1, 12) i;
INSERT INTO orders SELECT i, i % 12 + 1, 'F', 1000 * i, date '1994-01-01' + i * 9, '1-URGENT', 'Clerk', 0, 'plain' FROM generate_series(1, 60) i;
INSERT INTO lineitem SELECT o, (o + l) % 30 + 1, (o + l) % 6 + 1, l, 10 + l, 1000 + o, 0.06, 0.02, 'R', 'F', date '1994-01-10' + o * 9,
    date '1994-01-12' + o * 9, date '1994-01-20' + o * 9, 'DELIVER IN PERSON', 'MAIL', '' FROM generate_series(1, 60) o, generate_series(1, 3) l;
ANALYZE;
RESET search_path;
