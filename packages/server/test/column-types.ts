/** Columns of every type that a table can have, each with its edge values. */

export interface ColumnValues {
  readonly type: string
  /** JSON text for clients, by the text for Postgres. */
  readonly values: Readonly<Record<string, string>>
}

/** Statements that create the types of the columns below. */
export const typesSetup = `
  create type mood as enum ('sad', 'ok', 'it''s "fine", \\ really');
  create type point3 as (x int, y numeric, "odd ""name""" text);
  create type tree as (label text, at timestamptz, leaves point3[], doc jsonb);
  create domain positive as int check (value > 0);
  create domain email as text check (value like '%@%');
  create domain codes as text[];
  create domain place as point3;
  create domain page as jsonb check (value <> '0');
  create domain pages as json[] check (cardinality(value) < 9);
  create type folder as (label varchar(5), pages jsonb[], rest pages);
  create type cabinet as (at timestamptz, folders folder[], "odd ""name""" text);
  create domain own_folder as folder check ((value).label <> '');
  create type span as range (subtype = numeric);`

const infinity = '"infinity"'
const quoted = (text: string) => JSON.stringify(text)
/** Maps values to a JSON string of the same text. */
const same = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, quoted(text)]))
/** Maps values to themselves, for types written in JSON as in SQL. */
const plain = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text]))

const manyDigits = `${'1234567890'.repeat(30)}.${'0987654321'.repeat(30)}`

export const columnTypes: Readonly<Record<string, ColumnValues>> = {
  bool: { type: 'bool', values: plain('true', 'false') },
  int2: { type: 'int2', values: plain('-32768', '0', '32767') },
  int4: { type: 'int4', values: plain('-2147483648', '0', '2147483647') },
  int8: {
    type: 'int8',
    values: plain('-9223372036854775808', '9007199254740993', '0', '9223372036854775807'),
  },
  numeric: {
    type: 'numeric',
    values: {
      ...plain(
        '0',
        '-0.1',
        '1.10',
        '0.0000000000000000000000000000000000000001',
        manyDigits,
        `-${manyDigits}`,
      ),
      ...same('NaN', 'Infinity', '-Infinity'),
    },
  },
  money_like: { type: 'numeric(12, 2)', values: plain('1.50', '-9999999999.99') },
  float4: {
    type: 'float4',
    values: { ...plain('0', '-0', '0.1', '1e-45', '3.4028235e+38'), ...same('NaN', 'Infinity', '-Infinity') },
  },
  float8: {
    type: 'float8',
    values: {
      ...plain('0', '-0', '0.1', '0.30000000000000004', '5e-324', '1.7976931348623157e+308', '1e+15'),
      ...same('NaN', 'Infinity', '-Infinity'),
    },
  },
  money: { type: 'money', values: same('$1,234.56', '-$0.01', '$92,233,720,368,547,758.07') },
  text: {
    type: 'text',
    values: {
      ...same('', ' ', 'null', 'NULL', '"quoted"', "it's", 'back\\slash', 'line\nbreak\ttab', '\u0001\u007f'),
      ...same(
        '{"a":1}',
        '[1]',
        '1e400',
        '\\u0000',
        '\\x41',
        '😀',
        'e\u0301',
        '\ufeff',
        '\u202e',
        'x'.repeat(20_000),
      ),
    },
  },
  varchar: { type: 'varchar(5)', values: same('', '12345', '😀😀😀😀😀', ' a ') },
  char: { type: 'char(3)', values: same('   ', 'a  ', 'abc', ' b ') },
  one_char: { type: '"char"', values: same('a', '', '\\', '"') },
  name: { type: 'name', values: same('', 'a name', 'n'.repeat(63)) },
  bytea: { type: 'bytea', values: same('\\x', '\\x00', '\\xdeadbeef', '\\x5c78') },
  uuid: {
    type: 'uuid',
    values: same('00000000-0000-0000-0000-000000000000', 'a11ce000-0000-4000-8000-00000000000f'),
  },
  date: {
    type: 'date',
    values: {
      ...same('2026-02-28', '0001-01-01', '5874897-12-31', '0044-03-15 BC', '4713-01-01 BC'),
      ...same('infinity', '-infinity'),
    },
  },
  time: { type: 'time', values: same('00:00:00', '12:34:56.789012', '24:00:00') },
  timetz: { type: 'timetz', values: same('00:00:00+00', '12:34:56.789012-07', '24:00:00+15:59:59') },
  timestamp: {
    type: 'timestamp',
    values: {
      '2026-01-02 03:04:05.000001': '"2026-01-02T03:04:05.000001"',
      '294276-12-31 23:59:59.999999': '"294276-12-31T23:59:59.999999"',
      '0044-03-15 00:00:00 BC': '"0044-03-15T00:00:00 BC"',
      infinity,
      '-infinity': '"-infinity"',
    },
  },
  timestamptz: {
    type: 'timestamptz',
    values: {
      '2026-01-02 03:04:05.000001+00': '"2026-01-02T03:04:05.000001+00:00"',
      '2026-01-02 03:04:05+05:30': '"2026-01-01T21:34:05+00:00"',
      '294276-12-31 23:59:59.999999+00': '"294276-12-31T23:59:59.999999+00:00"',
      '4714-11-24 00:00:00+00 BC': '"4714-11-24T00:00:00+00:00 BC"',
      infinity,
      '-infinity': '"-infinity"',
    },
  },
  interval: {
    type: 'interval',
    values: {
      ...same('PT0S', 'P1Y2M3DT4H5M6.789012S', 'P-1Y-2M3DT-4H-5M-6.789012S', 'PT0.000001S', 'P1M-30D'),
      ...same('P178956970Y7M2147483647DT2562047788H54.775806S'),
      ...same('P-178956970Y-8M-2147483648DT-2562047788H-54.775807S'),
    },
  },
  json: {
    type: 'json',
    values: {
      ...plain(
        '"null"',
        '1.10',
        '12345678901234567890',
        '1e400',
        '["\\u0041\\ud83d\\ude00"]',
        '[]',
        '{}',
        'true',
      ),
      ...plain('{"b":1,"a":2}', '{"a":1,"a":2}', '{"a":null,"b":[null]}', '{ "spaced" : [ 1,\n2 ] }', '""'),
      ...plain('{"__proto__":1,"constructor":{"":0}}', '-0', '1E5', '[1.0,1.00,-1e-7]'),
    },
  },
  jsonb: {
    type: 'jsonb',
    values: {
      ...plain(
        '"null"',
        '1.10',
        '12345678901234567890',
        '[]',
        '{}',
        'true',
        '""',
        '0.0000001',
        '"\\\\u0000"',
      ),
      '1e400': `1${'0'.repeat(400)}`,
      '{"b":1,"a":2}': '{"a": 2, "b": 1}',
      '{"a":1,"a":2}': '{"a": 2}',
      '{"a":null,"b":[null]}': '{"a": null, "b": [null]}',
      '{"__proto__":1,"constructor":{"":0}}': '{"__proto__": 1, "constructor": {"": 0}}',
    },
  },
  inet: { type: 'inet', values: same('10.0.0.1', '10.0.0.1/8', '::1', 'fe80::1/64') },
  cidr: { type: 'cidr', values: same('10.0.0.0/8', '10.0.0.1/32', '::/0') },
  macaddr: { type: 'macaddr', values: same('08:00:2b:01:02:03') },
  macaddr8: { type: 'macaddr8', values: same('08:00:2b:01:02:03:04:05') },
  point: { type: 'point', values: same('(1,2)', '(0.1,-0)', '(NaN,Infinity)', '(5e-324,1e+308)') },
  line: { type: 'line', values: same('{1,2,3}') },
  lseg: { type: 'lseg', values: same('[(1,2),(3,4)]') },
  box: { type: 'box', values: same('(3,4),(1,2)') },
  path: { type: 'path', values: same('[(1,2),(3,4)]', '((1,2),(3,4))') },
  polygon: { type: 'polygon', values: same('((1,2),(3,4),(5,6))') },
  circle: { type: 'circle', values: same('<(1,2),3>') },
  int4range: { type: 'int4range', values: same('empty', '[1,5)', '(,)', '[1,)', '(,5)') },
  int8range: { type: 'int8range', values: same('[-9223372036854775808,9223372036854775807)') },
  numrange: { type: 'numrange', values: same('[1.10,2.20]', '(1,2)') },
  daterange: { type: 'daterange', values: same('[2026-01-01,2026-02-01)', '[-infinity,infinity)') },
  tsrange: { type: 'tsrange', values: same('["2026-01-01 00:00:00","2026-01-02 00:00:00.000001"]') },
  tstzrange: { type: 'tstzrange', values: same('["2026-01-01 00:00:00+00",)') },
  own_range: { type: 'span', values: same('[1.0,2]') },
  int4multirange: { type: 'int4multirange', values: same('{}', '{[1,3),[5,7)}', '{(,)}') },
  tstzmultirange: {
    type: 'tstzmultirange',
    values: same('{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00"),["2027-01-01 00:00:00+00",)}'),
  },
  bit: { type: 'bit(3)', values: same('101', '000') },
  varbit: { type: 'varbit', values: same('', '0', '1111000011110000') },
  tsvector: { type: 'tsvector', values: same('', "'a':1 'b':2A,3", "'it''s'") },
  tsquery: { type: 'tsquery', values: same("'a' & !'b'", "'a' <-> 'b'") },
  oid: { type: 'oid', values: same('0', '4294967295') },
  regclass: { type: 'regclass', values: same('pg_class', '-') },
  regtype: { type: 'regtype', values: same('integer', 'timestamp with time zone', 'mood') },
  pg_lsn: { type: 'pg_lsn', values: same('0/0', '16/B374D848') },
  xid8: { type: 'xid8', values: same('18446744073709551615') },
  jsonpath: { type: 'jsonpath', values: same('$."a"[*]?(@ > 1)') },
  mood: { type: 'mood', values: same('sad', 'it\'s "fine", \\ really') },
  domain: { type: 'positive', values: plain('1', '2147483647') },
  text_domain: { type: 'email', values: same('a@b') },
  array_domain: { type: 'codes', values: { '{}': '[]', '{a,"b,c"}': '["a","b,c"]' } },
  composite: {
    type: 'point3',
    values: {
      '(1,2.50,"a ""b"", (c)")': '{"x":1,"y":2.50,"odd \\"name\\"":"a \\"b\\", (c)"}',
      '(,,)': '{"x":null,"y":null,"odd \\"name\\"":null}',
      '(,NaN,"")': '{"x":null,"y":"NaN","odd \\"name\\"":""}',
    },
  },
  composite_domain: { type: 'place', values: { '(1,,)': '{"x":1,"y":null,"odd \\"name\\"":null}' } },
  nested: {
    type: 'tree',
    values: {
      '(oak,"2026-01-02 03:04:05+00","{""(1,2,\\\\""a\\\\"")"",NULL}","{""b"": 1}")':
        '{"label":"oak","at":"2026-01-02T03:04:05+00:00","leaves":[{"x":1,"y":2,"odd \\"name\\"":"a"},null],"doc":{"b": 1}}',
    },
  },
  int_array: {
    type: 'int[]',
    values: {
      '{}': '[]',
      '{1,NULL,3}': '[1,null,3]',
      '{{1,2},{3,NULL}}': '[[1,2],[3,null]]',
      '{{{1}},{{2}}}': '[[[1]],[[2]]]',
    },
  },
  text_array: {
    type: 'text[]',
    values: {
      '{"",NULL,"NULL","a,b","{}","\\"","\\\\"}': '["",null,"NULL","a,b","{}","\\"","\\\\"]',
      '{{a,b},{c,d}}': '[["a","b"],["c","d"]]',
    },
  },
  numeric_array: {
    type: 'numeric[]',
    values: { [`{${manyDigits},1.10,NaN}`]: `[${manyDigits},1.10,"NaN"]` },
  },
  int8_array: { type: 'int8[]', values: { '{9223372036854775807}': '[9223372036854775807]' } },
  bool_array: { type: 'bool[]', values: { '{t,f,NULL}': '[true,false,null]' } },
  bytea_array: { type: 'bytea[]', values: { '{"\\\\x00ff","\\\\x"}': '["\\\\x00ff","\\\\x"]' } },
  date_array: {
    type: 'date[]',
    values: { '{2026-01-02,infinity,"0044-03-15 BC"}': '["2026-01-02","infinity","0044-03-15 BC"]' },
  },
  moment_array: {
    type: 'timestamptz[]',
    values: { '{"2026-01-02 03:04:05+00",-infinity}': '["2026-01-02T03:04:05+00:00","-infinity"]' },
  },
  uuid_array: {
    type: 'uuid[]',
    values: { '{00000000-0000-0000-0000-000000000000}': '["00000000-0000-0000-0000-000000000000"]' },
  },
  mood_array: {
    type: 'mood[]',
    values: { '{sad,"it\'s \\"fine\\", \\\\ really"}': '["sad","it\'s \\"fine\\", \\\\ really"]' },
  },
  domain_array: { type: 'positive[]', values: { '{1,2}': '[1,2]' } },
  varchar_array: { type: 'varchar(3)[]', values: { '{abc,a}': '["abc","a"]' } },
  bit_array: { type: 'bit(2)[]', values: { '{10,01}': '["10","01"]' } },
  box_array: { type: 'box[]', values: { '{(1,1),(0,0);(2,2),(1,1)}': '["(1,1),(0,0)","(2,2),(1,1)"]' } },
  range_array: { type: 'int4range[]', values: { '{"[1,2)",empty}': '["[1,2)","empty"]' } },
  interval_array: { type: 'interval[]', values: { '{P1D,NULL}': '["P1D",null]' } },
  composite_array: {
    type: 'point3[]',
    values: {
      '{"(1,2,a)",NULL,"(,,)"}':
        '[{"x":1,"y":2,"odd \\"name\\"":"a"},null,{"x":null,"y":null,"odd \\"name\\"":null}]',
      '{{"(1,,)"},{"(2,,)"}}':
        '[[{"x":1,"y":null,"odd \\"name\\"":null}],[{"x":2,"y":null,"odd \\"name\\"":null}]]',
    },
  },
  jsonb_array: {
    type: 'jsonb[]',
    values: {
      '{}': '[]',
      '{1.10,"\\"a\\"","{\\"a\\": [1]}",NULL}': '[1.10,"a",{"a": [1]},null]',
      '{"[1, 2]","[3]"}': '[[1, 2],[3]]',
      '{"[1]"}': '[[1]]',
      '{"[[[]], null]",[],NULL,"[{\\"a\\": [[0]]}]"}': '[[[[]], null],[],null,[{"a": [[0]]}]]',
      '{"\\"{1,2}\\"","\\"[1]\\"","\\"null\\""}': '["{1,2}","[1]","null"]',
    },
  },
  json_array: {
    type: 'json[]',
    values: {
      '{}': '[]',
      '{1.10,"{\\"b\\":1,\\"a\\":2}"}': '[1.10,{"b":1,"a":2}]',
      '{"[ 1,2 ]",[],NULL,"{ \\"a\\" :1,\\"a\\":[[1e5]]}"}': '[[ 1,2 ],[],null,{ "a" :1,"a":[[1e5]]}]',
    },
  },
  document_domain_array: { type: 'page[]', values: { '{[],[1],NULL,true}': '[[],[1],null,true]' } },
  document_array_domain: { type: 'pages', values: { '{}': '[]', '{"[1,2]",[3],NULL}': '[[1,2],[3],null]' } },
  array_of_arrays: {
    type: 'codes[]',
    values: { '{"{a,\\"b,c\\"}","{}",NULL,"{NULL}"}': '[["a","b,c"],[],null,[null]]' },
  },
  documents_in_composite: {
    type: 'folder',
    values: {
      '(a,"{""[1, 2]"",[3]}","{""[4,5]"",NULL}")': '{"label":"a","pages":[[1, 2],[3]],"rest":[[4,5],null]}',
      '(,,)': '{"label":null,"pages":null,"rest":null}',
      '("",{},{})': '{"label":"","pages":[],"rest":[]}',
    },
  },
  documents_in_composite_domain: {
    type: 'own_folder',
    values: { '(a,{[1]},)': '{"label":"a","pages":[[1]],"rest":null}' },
  },
  documents_in_composite_array: {
    type: 'folder[]',
    values: {
      '{"(a,{[1]},{[2]})",NULL,"(,,)"}':
        '[{"label":"a","pages":[[1]],"rest":[[2]]},null,{"label":null,"pages":null,"rest":null}]',
      '{{"(a,,)"},{"(b,{1},)"}}':
        '[[{"label":"a","pages":null,"rest":null}],[{"label":"b","pages":[1],"rest":null}]]',
    },
  },
  documents_deep_in_composites: {
    type: 'cabinet',
    values: {
      '("2026-01-02 03:04:05+00","{""(a,{[1]},{[2]})"",NULL}",x)':
        '{"at":"2026-01-02T03:04:05+00:00","folders":[{"label":"a","pages":[[1]],"rest":[[2]]},null],"odd \\"name\\"":"x"}',
    },
  },
}

/** Types of extensions and of optional builds, each with its setup and its column. */
export const optionalTypes: Readonly<Record<string, ColumnValues & { readonly setup: string }>> = {
  xml: { setup: "select '<a/>'::xml", type: 'xml', values: same('<a b="c">d &amp; e</a>', 'text') },
  citext: { setup: 'create extension citext', type: 'citext', values: same('', 'MiXed') },
  ltree: { setup: 'create extension ltree', type: 'ltree', values: same('', 'Top.Science') },
  hstore: {
    setup: 'create extension hstore',
    type: 'hstore',
    values: same('', '"a"=>"1", "b"=>NULL', '"q\\"uote"=>"NULL"'),
  },
  citext_array: { setup: 'select', type: 'citext[]', values: { '{Ab,NULL}': '["Ab",null]' } },
}
