import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { observeStatements } from '../../../../../test/observed-statements.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let database: ExtensionDatabase
let app: TestApp
const token = userToken({ sub: alice })

const columns = ['geom', 'geog', 'free', 'utm'] as const

beforeAll(async () => {
  database = await createExtensionDatabase('postgis')
  app = await createTestApp({
    database,
    config: database.config,
    setup: `
      create table city (id int primary key, name text);
      create table spot (
        id int primary key,
        city_id int references city,
        owner text,
        geom "Ext 1".geometry(Point, 4326),
        geog "Ext 1".geography(Point, 4326),
        free "Ext 1".geometry,
        utm "Ext 1".geometry(Point, 25833),
        "odd,""col" "Ext 1".geography,
        points "Ext 1".geometry[]
      );
      insert into city values (1, 'Berlin');
      -- A grid of the earth, ten degrees wide, with the poles and both sides of the antimeridian.
      insert into spot (id, city_id, owner, geom, geog, free, utm)
      select n, 1, case when n % 2 = 0 then '${alice}' else '${bob}' end, p, p::"Ext 1".geography,
        case n % 3 when 0 then "Ext 1".st_setsrid(p, 0) when 1 then p else "Ext 1".st_buffer(p, 0.5) end,
        "Ext 1".st_setsrid("Ext 1".st_makepoint(lng * 1000, lat * 1000), 25833)
      from (
        select row_number() over () as n, lng, lat, "Ext 1".st_setsrid("Ext 1".st_makepoint(lng, lat), 4326) as p
        from generate_series(-180, 180, 10) lng, generate_series(-90, 90, 10) lat
      ) g;
      insert into spot (id, geom, free) values (10000, 'SRID=4326;POINT EMPTY', 'POINT EMPTY'), (10001, null, null),
        (10002, null, 'SRID=25833;POINT Z (1 2 3)'), (10003, null, 'SRID=4326;POLYGON((5 5,6 6,6 5,5 6,5 5))');
      create index on spot using gist (geom);
      create index on spot using gist (geog);
      create index on spot using gist (free);
      create table mine as select id, owner, geom from spot where id <= 1000;
      alter table mine add primary key (id);
      alter table mine enable row level security;
      create policy own on mine using (owner = current_setting('basalt.user_id', true));
      -- In parts, whose rows have the same tuple identifiers.
      create domain place as "Ext 1".geometry(Point, 4326);
      create table "own ""spot" (like spot, dom place, primary key (id)) partition by range (id);
      create table own_low partition of "own ""spot" for values from (0) to (300);
      create table own_high partition of "own ""spot" for values from (300) to (20000);
      insert into "own ""spot" select *, geom from spot;
      create index on "own ""spot" using gist (geom);
      create index on "own ""spot" using spgist (free);
      create index on "own ""spot" using gist (dom, utm);
      create index on "own ""spot" using brin (geog);
      create index on "own ""spot" using gist (utm) where owner = '${alice}';
      alter table "own ""spot" enable row level security;
      create policy own on "own ""spot" using (owner = current_setting('basalt.user_id', true));
      create table labelled (
        id int primary key, city_id int references city, kind text, name text, geom "Ext 1".geometry(Point, 4326));
      insert into labelled values
        (1, 1, 'bar', 'The blue door', 'SRID=4326;POINT(1 0)'), (2, 1, 'cafe', 'Blue', 'SRID=4326;POINT(-2 0)'),
        (3, 1, 'bar', 'Green', 'SRID=4326;POINT(0 0)'), (4, 1, 'bar', 'Blue', 'SRID=4326;POINT(3 0)');
      create function places_named(name text) returns setof labelled stable language sql
        as 'select * from labelled where labelled.name ilike ''%'' || $1 || ''%''';
      create view spot_view as select id, geom, geog from spot;
      create materialized view spot_copy as select id, geom, geog from spot;
      create table measured (id int primary key, geom "Ext 1".geometry(Point, 4326), _distance int);
      analyze;
    `,
  })
  await app.sql('grant usage on schema "Ext 1" to basalt_authenticated')
}, extensionSetupMs)
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const list = (table: string, parameters: Record<string, string>, as: string | null = token) =>
  app.request('GET', `/api/collections/${table}?${new URLSearchParams(parameters)}`, {
    token: as ?? undefined,
  })

async function idsOf(parameters: Record<string, string>, table = 'spot'): Promise<number[]> {
  const response = await list(table, { perPage: '500', fields: 'id', ...parameters })
  if (response.status !== 200) throw new Error(response.text)
  const ids = response.json.items.map(({ id }: { id: number }) => id)
  expect(response.json.totalItems).toBe(ids.length)
  return ids
}

/** Returns the ids by SQL, in which `e` stands for `Ext 1`. */
const idsBySql = async (condition: string, order = 'id') =>
  (
    await app.sql<{ id: number }>(
      `select id from spot where ${condition} order by ${order}`.replaceAll(/\be\./g, '"Ext 1".'),
    )
  ).map(({ id }) => id)

const square = (west: number, south: number, east: number, north: number) => ({
  type: 'Polygon',
  coordinates: [
    [
      [west, south],
      [east, south],
      [east, north],
      [west, north],
      [west, south],
    ],
  ],
})
const json = JSON.stringify

describe('GET /collections/:table?near', () => {
  test.each([
    ['geom,13.4,52.5,12', "e.st_dwithin(geom, 'SRID=4326;POINT(13.4 52.5)', 12)"],
    ['geog,13.4,52.5,1200000', "e.st_dwithin(geog, 'POINT(13.4 52.5)', 1200000)"],
    // Across the antimeridian and around a pole, on the earth but not in a plane.
    ['geog,180,0,1200000', "e.st_dwithin(geog, 'POINT(180 0)', 1200000)"],
    ['geog,0,90,1', 'abs(e.st_y(geog::"Ext 1".geometry)) > 89 and e.st_y(geog::"Ext 1".geometry) > 0'],
    ['free,10,10,0.6', "e.st_dwithin(e.st_setsrid(free, 0), 'POINT(10 10)', 0.6)"],
    ['utm,20000,10000,15000', "e.st_dwithin(utm, 'SRID=25833;POINT(20000 10000)', 15000)"],
  ])('%s finds the same as PostGIS', async (near, condition) => {
    const ids = await idsBySql(condition)
    expect(ids.length).toBeGreaterThan(0)
    expect(await idsOf({ near })).toEqual(ids)
  })
})

describe('GET /collections/:table?bbox', () => {
  test.each(columns)('finds rows of %s between the edges, edges included', async (column) => {
    const scale = column === 'utm' ? 1000 : 1
    const box = [-30, 40, 20, 70].map((value) => value * scale).join(',')
    const inside = `e.st_x(geom) between -30 and 20 and e.st_y(geom) between 40 and 70`
    expect(await idsOf({ bbox: `${column},${box}` })).toEqual(await idsBySql(inside))
  })

  test.each(['geom', 'geog'])('is right for any box on %s', async (column) => {
    const degree = (limit: number) => fc.integer({ min: -limit, max: limit })
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(degree(180), degree(180)).filter(([a, b]) => a !== b),
        fc.tuple(degree(90), degree(90)).filter(([a, b]) => a !== b),
        async (lngs, lats) => {
          const [west, east] = [Math.min(...lngs), Math.max(...lngs)]
          const [south, north] = [Math.min(...lats), Math.max(...lats)]
          const inside = `e.st_x(geom) between ${west} and ${east} and e.st_y(geom) between ${south} and ${north}`
          const expected = await idsBySql(inside)
          const response = await list('spot', {
            bbox: `${column},${west},${south},${east},${north}`,
            perPage: '1',
          })
          expect(response.json.totalItems).toBe(expected.length)
        },
      ),
      { numRuns: 15 },
    )
  })
})

describe('GET /collections/:table?within and intersects', () => {
  const shape = square(-5, 35, 25, 65)
  const multi = { type: 'MultiPolygon', coordinates: [shape.coordinates, square(95, -5, 105, 5).coordinates] }

  test.each([
    ['within', 'geom', multi, 'e.st_within(geom, shape)'],
    ['within', 'geog', multi, 'e.st_coveredby(geog, shape::"Ext 1".geography)'],
    ['within', 'free', multi, 'e.st_within(e.st_setsrid(free, 0), e.st_setsrid(shape, 0))'],
    ['intersects', 'geom', multi, 'e.st_intersects(geom, shape)'],
    ['intersects', 'geog', multi, 'e.st_intersects(geog, shape::"Ext 1".geography)'],
    [
      'intersects',
      'free',
      { type: 'Point', coordinates: [30.4, 10] },
      'e.st_intersects(e.st_setsrid(free, 0), e.st_setsrid(shape, 0))',
    ],
    [
      'intersects',
      'geom',
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [30, 0],
        ],
      },
      'e.st_intersects(geom, shape)',
    ],
    [
      'intersects',
      'geom',
      { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [0, 0] }, shape] },
      'e.st_intersects(geom, shape)',
    ],
  ])('%s of %s', async (name, column, value, condition) => {
    const literal = `e.st_geomfromgeojson('${json(value)}')`
    const ids = await idsBySql(condition.replace('shape', literal).replace(', shape', `, ${literal}`))
    expect(ids.length).toBeGreaterThan(0)
    expect(await idsOf({ [name]: `${column},${json(value)}` })).toEqual(ids)
  })

  test('find nothing in an empty geometry', async () => {
    for (const column of ['geom', 'geog', 'free']) {
      expect(await idsOf({ within: `${column},{"type":"Polygon","coordinates":[]}` })).toEqual([])
      expect(await idsOf({ intersects: `${column},{"type":"GeometryCollection","geometries":[]}` })).toEqual(
        [],
      )
    }
  })

  test.each(['geom', 'geog', 'free'])('accept a self-intersecting polygon on %s', async (column) => {
    const bow = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [20, 20],
          [20, 0],
          [0, 20],
          [0, 0],
        ],
      ],
    }
    for (const name of ['within', 'intersects']) {
      const response = await list('spot', { [name]: `${column},${json(bow)}` })
      expect([200, 400]).toContain(response.status)
      if (response.status === 400) expect(response.json.error).toBe('invalid_geometry')
    }
  })
})

describe('spatial filters', () => {
  test('combine with each other, a filter, relations and row-level security', async () => {
    const parameters = {
      near: 'geom,0,0,40',
      bbox: 'geom,-5,-5,40,40',
      within: `geom,${json(square(-1, -1, 31, 31))}`,
    }
    const condition =
      "e.st_x(geom) between 0 and 30 and e.st_y(geom) between 0 and 30 and e.st_dwithin(geom, 'SRID=4326;POINT(0 0)', 40)"
    expect(await idsOf({ ...parameters, filter: `owner = '${bob}'` })).toEqual(
      await idsBySql(`${condition} and owner = '${bob}'`),
    )
    expect(await idsOf(parameters, 'mine')).toEqual(
      await idsBySql(`${condition} and owner = '${alice}' and id <= 1000`),
    )
    const { json: page } = await list('spot', {
      ...parameters,
      expand: 'city',
      perPage: '1',
      fields: 'id,city_id',
    })
    expect(page.items[0]).toMatchObject({ expand: { city: { id: 1, name: 'Berlin' } } })
    const { json: estimated } = await list('spot', { ...parameters, total: 'estimated' })
    expect(estimated.totalItems).toBeGreaterThanOrEqual(0)
  })

  test('work on views and materialized views', async () => {
    const ids = await idsBySql("e.st_dwithin(geom, 'SRID=4326;POINT(0 0)', 11)")
    for (const table of ['spot_view', 'spot_copy']) {
      expect((await idsOf({ near: 'geom,0,0,11' }, table)).toSorted((a, b) => a - b)).toEqual(ids)
      expect((await list(table, { sort: 'geog.distance(0,0)' })).status).toBe(200)
    }
  })

  test('accept a quoted column name', async () => {
    expect(await idsOf({ near: '"odd,""col",1,2,3' })).toEqual([])
  })

  test.each([
    [
      { near: 'geom,181,0,1' },
      'near requires valid WGS84 coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
    ],
    [
      { near: 'geog,0,-90.1,1' },
      'near requires valid WGS84 coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
    ],
    [{ near: 'owner,0,0,1' }, 'column "owner" is not a spatial column'],
    [{ bbox: 'points,0,0,1,1' }, 'column "points" is not a spatial column'],
    [{ within: `id,${json(square(0, 0, 1, 1))}` }, 'column "id" is not a spatial column'],
    [{ near: 'nowhere,0,0,1' }, 'unknown column "nowhere" in near'],
    [
      { intersects: 'geom,{"type":"Point","coordinates":["a",1]}' },
      'invalid intersects geometry: coordinates: expected positions of numbers',
    ],
    [
      { within: 'geom,{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,1],[1,0]]]}' },
      'invalid within geometry: coordinates: expected a ring to end where it begins',
    ],
    [
      { intersects: 'geog,{"type":"Point","coordinates":[200,1]}' },
      'invalid intersects geometry: coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
    ],
    [{ near: 'geom,0,0,0' }, 'near distance must be greater than 0'],
  ])('reject %j', async (parameters, message) => {
    const response = await list('spot', parameters)
    expect([response.status, envelope(response)]).toEqual([
      400,
      expect.objectContaining({ code: 400, message }),
    ])
  })

  test('return 200 or 400 for any parameters', async () => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom('0', '-0', '1e308', '1e-320', '180', '-90', '99999999999999999999'),
    )
    const coordinates = fc.array(
      fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 2, maxLength: 3 }),
      { maxLength: 5 },
    )
    const geometry = fc.oneof(
      fc.record({
        type: fc.constantFrom('Polygon', 'MultiLineString'),
        coordinates: fc.array(coordinates.map((ring) => [...ring, ...ring.slice(0, 1)])),
      }),
      fc.record({
        type: fc.constantFrom('Point', 'LineString', 'MultiPoint', 'GeometryCollection'),
        coordinates,
        geometries: fc.constant([]),
      }),
    )
    const column = fc.constantFrom(...columns)
    const parameter = fc.oneof(
      fc.tuple(column, number, number, number).map((parts) => ({ near: parts.join() })),
      fc.tuple(column, number, number, number, number).map((parts) => ({ bbox: parts.join() })),
      fc.tuple(column, geometry).map(([name, value]) => ({ within: `${name},${json(value)}` })),
      fc.tuple(column, geometry).map(([name, value]) => ({ intersects: `${name},${json(value)}` })),
      fc
        .tuple(column, number, number)
        .map(([name, lng, lat]) => ({ sort: `${name}.distance(${lng},${lat})`, cursor: '' })),
    )
    await fc.assert(
      fc.asyncProperty(parameter, async (parameters: Record<string, string>) => {
        const { status, text } = await list('spot', { ...parameters, perPage: '2' })
        expect([status, text]).toEqual([expect.toSatisfy((code) => code === 200 || code === 400), text])
      }),
      { numRuns: 60 },
    )
  })
})

describe('sort by distance', () => {
  test.each([
    ['geom', "e.st_distance(geom, 'SRID=4326;POINT(13.4 52.5)')"],
    ['geog', "e.st_distance(geog, 'POINT(13.4 52.5)')"],
    ['free', "e.st_distance(e.st_setsrid(free, 0), 'POINT(13.4 52.5)')"],
  ])('returns the nearest first, with their distance: %s', async (column, distance) => {
    const { json: page } = await list('spot', {
      sort: `${column}.distance(13.4,52.5),id`,
      fields: 'id',
      perPage: '50',
    })
    const expected = await app.sql(
      `select id, ${distance} as _distance from spot order by ${distance}, id limit 50`.replaceAll(
        /\be\./g,
        '"Ext 1".',
      ),
    )
    expect(page.items).toEqual(expected)
  })

  test.each(['geom', 'geog'])('pages by cursor through all rows, once each: %s', async (column) => {
    const ids: number[] = []
    let cursor = ''
    do {
      const { json: page } = await list('spot', {
        sort: `${column}.distance(0,0)`,
        perPage: '100',
        fields: 'id',
        cursor,
      })
      ids.push(...page.items.map(({ id }: { id: number }) => id))
      cursor = page.nextCursor ?? ''
    } while (cursor !== '')
    const point = column === 'geom' ? "'SRID=4326;POINT(0 0)'" : "'POINT(0 0)'"
    expect(ids).toEqual(await idsBySql('true', `e.st_distance(${column}, ${point}), id`))
  })

  test('works with a search, highlights, facets and a relation outside the fields', async () => {
    const { json: page } = await list('labelled', {
      sort: 'geom.distance(0,0)',
      search: 'blue',
      highlight: 'true',
      near: 'geom,0,0,2.5',
      filter: "kind = 'bar'",
      facets: 'kind',
      disjunctiveFacets: 'kind',
      fields: 'kind',
      expand: 'city',
      perPage: '1',
    })
    expect(page).toEqual({
      page: 1,
      perPage: 1,
      totalItems: 1,
      totalPages: 1,
      items: [
        {
          kind: 'bar',
          expand: { city: { id: 1, name: 'Berlin' } },
          _distance: 1,
          _highlight: 'bar The <b>blue</b> door',
          _highlightResult: {
            kind: { value: 'bar', matchLevel: 'none' },
            name: { value: 'The <b>blue</b> door', matchLevel: 'full' },
          },
        },
      ],
      facets: {
        kind: [
          { value: 'bar', count: 1 },
          { value: 'cafe', count: 1 },
        ],
      },
    })
  })

  test('sorts an export, whose records have only their columns', async () => {
    const parameters = { sort: 'geom.distance(0.9,0)', near: 'geom,0,0,2.5', fields: 'id' }
    const files = []
    for (const format of ['csv', 'ndjson']) {
      files.push((await list(`labelled/export.${format}`, parameters)).text)
    }
    expect(files).toEqual(['id\n1\n3\n2\n', '{"id":1}\n{"id":3}\n{"id":2}\n'])
  })

  test('sorts the rows that a procedure returns', async () => {
    const parameters = new URLSearchParams({ sort: 'geom.distance(-2,0),id', fields: 'kind', perPage: '2' })
    const response = await app.request('GET', `/api/rpc/places_named?name=blue&${parameters}`, { token })
    expect([response.status, response.json]).toEqual([
      200,
      {
        page: 1,
        perPage: 2,
        totalItems: 3,
        totalPages: 2,
        items: [
          { kind: 'cafe', _distance: 0 },
          { kind: 'bar', _distance: 3 },
        ],
      },
    ])
  })

  test('rejects a cursor of another point', async () => {
    const { json: page } = await list('spot', { sort: 'geog.distance(0,0)', perPage: '1', cursor: '' })
    const other = await list('spot', { sort: 'geog.distance(0,1)', cursor: page.nextCursor })
    expect([other.status, other.json.message]).toEqual([400, 'invalid cursor: it belongs to another sort'])
  })

  test.each([
    ['spot', 'owner.distance(1,2)', 'column "owner" is not a spatial column'],
    [
      'spot',
      'geog.distance(1,91)',
      'distance sort requires valid WGS84 coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
    ],
    ['spot', 'id,geog.distance(1,2)', 'distance sort term must be the first sort term'],
    [
      'measured',
      'geom.distance(1,2)',
      'distance sort cannot be used on "measured" because it has a "_distance" column',
    ],
  ])('on %s: %s is rejected', async (table, sort, message) => {
    const response = await list(table, { sort })
    expect([response.status, response.json.message]).toEqual([400, message])
  })
})

describe('spatial index', () => {
  // The table is small enough to be read as a whole.
  beforeAll(() => app.sql('set enable_seqscan = off; set enable_sort = off'))

  test.each([
    ['near of a geometry', { near: 'geom,13.4,52.5,1' }, /Index.* Scan.*spot_geom_idx/],
    ['near of a geography', { near: 'geog,13.4,52.5,1000' }, /Index.* Scan.*spot_geog_idx/],
    ['near with any reference system', { near: 'free,13.4,52.5,1' }, /Index.* Scan.*spot_free_idx/],
    ['bbox of a geometry', { bbox: 'geom,0,0,1,1' }, /Index.* Scan.*spot_geom_idx/],
    ['bbox of a geography', { bbox: 'geog,0,0,1,1' }, /Index.* Scan.*spot_geog_idx/],
    ['within', { within: `geom,${json(square(0, 0, 1, 1))}` }, /Index.* Scan.*spot_geom_idx/],
    ['within of a geography', { within: `geog,${json(square(0, 0, 1, 1))}` }, /Index.* Scan.*spot_geog_idx/],
    [
      'intersects',
      { intersects: 'free,{"type":"Point","coordinates":[1,2]}' },
      /Index.* Scan.*spot_free_idx/,
    ],
  ])('serves %s', async (_what, parameters: Record<string, string>, expected) => {
    expect(await explain(parameters)).toMatch(expected)
  })

  describe('under policies', () => {
    const own = encodeURIComponent('own "spot')
    const triangle = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [40, 0],
          [0, 40],
          [0, 0],
        ],
      ],
    }
    const origin = { type: 'Point', coordinates: [0, 0] }

    test.each([
      [{ near: 'geom,13.4,52.5,12' }, "e.st_dwithin(geom, 'SRID=4326;POINT(13.4 52.5)', 12)"],
      [{ near: 'dom,13.4,52.5,12' }, "e.st_dwithin(geom, 'SRID=4326;POINT(13.4 52.5)', 12)"],
      [{ near: 'geog,180,0,1200000' }, "e.st_dwithin(geog, 'POINT(180 0)', 1200000)"],
      [{ near: 'geog,0,90,1200000' }, "e.st_dwithin(geog, 'POINT(0 90)', 1200000)"],
      [{ near: 'geog,0,0,30000000' }, "e.st_dwithin(geog, 'POINT(0 0)', 30000000)"],
      [{ near: 'free,10,10,12' }, "e.st_dwithin(e.st_setsrid(free, 0), 'POINT(10 10)', 12)"],
      [{ bbox: 'geom,-30,40,20,70' }, 'e.st_x(geom) between -30 and 20 and e.st_y(geom) between 40 and 70'],
      [{ bbox: 'geog,-30,40,20,70' }, 'e.st_x(geom) between -30 and 20 and e.st_y(geom) between 40 and 70'],
      [{ within: `dom,${json(triangle)}` }, `e.st_within(geom, e.st_geomfromgeojson('${json(triangle)}'))`],
      [
        { within: `geog,${json(triangle)}` },
        `e.st_coveredby(geog, e.st_geomfromgeojson('${json(triangle)}')::"Ext 1".geography)`,
      ],
      [
        { intersects: `geom,${json(origin)}`, near: 'geog,0,0,5', bbox: 'free,-1,-1,1,1' },
        "e.st_equals(geom, 'SRID=4326;POINT(0 0)')",
      ],
    ])('is looked up for the rows: %j', async (parameters, condition) => {
      const ids = await idsBySql(`(${condition}) and owner = '${alice}'`)
      expect(ids.length).toBeGreaterThan(0)
      expect(await idsOf(parameters, own)).toEqual(ids)
      const plan = await explain(parameters, own)
      expect(plan).toMatch(/TID Cond: \(ctid = /)
      expect(plan).not.toContain('Seq Scan')
      // The lookup must run once per statement. As a condition it could run once per row.
      expect(plan).not.toContain('nearby_rows')
    })

    test.each([
      ['covers only some rows', { near: 'utm,20000,10000,1' }],
      ['would be read as a whole for a box of more than half of the earth', { bbox: 'geog,-100,-80,100,80' }],
    ])('is not looked up when it %s', async (_why, parameters: Record<string, string>) => {
      expect(await statementOf(parameters, own)).not.toContain('nearby_rows')
    })

    test('is not looked up without a token, nor for callers who may not read the whole row', async () => {
      const parameters = { near: 'geom,0,0,1', fields: 'id' }
      expect(await statementOf(parameters, own)).toContain('nearby_rows')
      await app.sql(`
        grant usage on schema public, "Ext 1" to basalt_anonymous;
        grant select on "own ""spot" to basalt_anonymous`)
      await app.app.catalog.refresh()
      expect(await statementOf(parameters, own, null)).not.toContain('nearby_rows')
      await app.sql(`
        revoke all on "own ""spot" from basalt_authenticated, basalt_anonymous;
        grant select (id, owner, geom) on "own ""spot" to basalt_authenticated`)
      try {
        await app.app.catalog.refresh()
        expect(await statementOf(parameters, own)).not.toContain('nearby_rows')
        const lookUp = (column: string) => `
          set role basalt_authenticated;
          select basalt.nearby_rows('"own ""spot"', '${column}', 'geometry', 'POINT(0 0)', 1)`
        await expect(app.sql(lookUp('free'))).rejects.toThrow('permission denied for column free')
        await app.sql(lookUp('geom'))
        const withoutToken = lookUp('geom').replace('basalt_authenticated', 'basalt_anonymous')
        await expect(app.sql(withoutToken)).rejects.toThrow('permission denied for function nearby_rows')
      } finally {
        await app.sql('reset role; grant select on "own ""spot" to basalt_authenticated')
      }
    })
  })

  test('returns the nearest with a second sort key: from PostgreSQL 17', async () => {
    const [version] = await app.sql<{ number: string }>(
      `select current_setting('server_version_num') as number`,
    )
    const plan = await explain({ sort: 'geom.distance(1,2)', skipTotal: 'true', perPage: '3' })
    expect(plan).toMatch(Number(version?.number) < 170_000 ? /Sort Key/ : /Index Scan using spot_geom_idx/)
  })
})

/** Returns the statements that a list sends to read its rows. */
async function sentFor(parameters: Record<string, string>, table: string, as: string | null) {
  const statements: { text: string; values: readonly unknown[] }[] = []
  const observed = observeStatements((statement) => statements.push(statement))
  try {
    expect((await list(table, parameters, as)).status).toBe(200)
  } finally {
    observed.stop()
  }
  const name = `"public"."${decodeURIComponent(table).replaceAll('"', '""')}"`
  const { text = '', values = [] } = statements.find((each) => each.text.includes(name)) ?? {}
  return { text, values }
}

const statementOf = async (parameters: Record<string, string>, table: string, as: string | null = token) =>
  (await sentFor(parameters, table, as)).text

/** Returns the plan of a list, as the callers' role has it. */
async function explain(parameters: Record<string, string>, table = 'spot'): Promise<string> {
  const { text, values } = await sentFor(parameters, table, token)
  await app.sql('set role basalt_authenticated')
  try {
    const rows = await app.sql<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  } finally {
    await app.sql('reset role')
  }
}
