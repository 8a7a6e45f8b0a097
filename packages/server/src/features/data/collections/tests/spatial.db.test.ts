import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import {
  createExtensionDatabase,
  type ExtensionDatabase,
  extensionSetupMs,
} from '../../../../../test/extension-database.ts'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let database: ExtensionDatabase
let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  database = await createExtensionDatabase('postgis')
  app = await createTestApp({
    database,
    config: database.config,
    setup: `
      create domain spot as "Ext 1".geography(Point, 4326);
      create type visit as (at date, place "Ext 1".geography);
      create table city (id int primary key, name text, place "Ext 1".geography(Point, 4326));
      create table stop (
        id int primary key,
        city_id int references city,
        geom "Ext 1".geometry(Point, 4326),
        geog "Ext 1".geography(Point, 4326),
        shape "Ext 1".geometry,
        area "Ext 1".geography,
        high "Ext 1".geometry(PointZ, 4326),
        metres "Ext 1".geometry(Point, 25833),
        spot spot,
        points "Ext 1".geography[],
        outlines "Ext 1".geometry[],
        visit visit
      );
      create table guarded (id int primary key, owner text, place "Ext 1".geography, metres "Ext 1".geometry(Point, 25833));
      alter table guarded enable row level security;
      create policy near_zero on guarded using ("Ext 1".st_dwithin(place, 'POINT(0 0)'::"Ext 1".geography, 1000));
    `,
  })
  await app.sql('grant usage on schema "Ext 1" to basalt_authenticated')
}, extensionSetupMs)
afterEach(() => app.sql('truncate stop, city, guarded'))
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

const point = { type: 'Point', coordinates: [13.404954, 52.520008] }
const polygon = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [2, 0],
      [2, 2],
      [0, 0],
    ],
  ],
}

describe('geometry and geography', () => {
  test.each([
    ['geom', point],
    ['geog', point],
    ['spot', point],
    ['geog', { type: 'Point', coordinates: [-0.123456789012345, 89.99999999999999] }],
    ['high', { type: 'Point', coordinates: [1, 2, 3.5] }],
    ['metres', { type: 'Point', coordinates: [391_779.25, 5_820_072.5] }],
    [
      'shape',
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1.5],
        ],
      },
    ],
    ['area', polygon],
    [
      'shape',
      {
        type: 'MultiPolygon',
        coordinates: [
          polygon.coordinates,
          [
            [
              [5, 5],
              [6, 5],
              [6, 6],
              [5, 5],
            ],
          ],
        ],
      },
    ],
    [
      'shape',
      { type: 'GeometryCollection', geometries: [point, { type: 'MultiPoint', coordinates: [[1, 2]] }] },
    ],
    [
      'area',
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
        ],
      },
    ],
    ['shape', { type: 'Polygon', coordinates: [] }],
    ['points', [point, null, polygon]],
    ['points', []],
    ['outlines', [polygon, point]],
    ['visit', { at: '2026-01-02', place: point }],
    ['visit', null],
    ['points', null],
    ['geog', null],
    ['geom', null],
  ])('round-trip as the same GeoJSON: %s %j', async (column, value) => {
    const expected = { id: 1, [column]: value }
    const created = await send('POST', 'stop', { id: 1, [column]: value })
    expect(created.status, created.text).toBe(201)
    expect(created.json).toMatchObject(expected)
    expect((await send('GET', 'stop/1')).json).toEqual(created.json)
    expect((await send('GET', 'stop')).json.items).toEqual([created.json])
    // The record is sent back as it was received.
    expect((await send('PATCH', 'stop/1', created.json)).json).toEqual(created.json)
    const operations = [
      { method: 'update', id: 1, body: { [column]: value } },
      { method: 'delete', id: 1 },
      { method: 'create', body: { id: 1, [column]: value } },
      { method: 'create', body: { id: 2, [column]: value } },
    ]
    const batch = await send('POST', 'stop/batch', { operations })
    expect(batch.status, batch.text).toBe(200)
    expect(batch.json[0].body).toMatchObject(expected)
    expect(batch.json[2].body).toMatchObject(expected)
    expect(batch.json[3].body).toMatchObject({ id: 2, [column]: value })
  })

  test('are returned in relations, both ways', async () => {
    await send('POST', 'city', { id: 1, name: 'Berlin', place: point })
    await send('POST', 'stop', { id: 1, city_id: 1, geog: point, geom: point })
    expect((await send('GET', 'stop/1?expand=city&fields=id')).json.expand.city.place).toEqual(point)
    const { json } = await send('GET', 'city/1?expand=stop&fields=id')
    expect(json.expand.stop).toMatchObject([{ geog: point, geom: point }])
  })

  test('are imported as GeoJSON, and as text that PostGIS reads', async () => {
    const path = '/api/collections/stop/import?mode=partial'
    const rows = [
      { id: 1, geom: point, geog: point, metres: point, shape: polygon, points: [point, polygon] },
      { id: 2, geom: { type: 'Point', coordinates: ['a', 1] } },
      { id: 3, geom: polygon },
    ]
    const fromJson = await app.request('POST', path, { token, body: rows })
    expect(fromJson.json).toEqual({
      ...{ processed: 3, inserted: 1, updated: 0, skipped: 0, failed: 2 },
      errors: [
        {
          row: 2,
          message: 'invalid GeoJSON geometry (geom: coordinates: expected positions of numbers)',
        },
        {
          row: 3,
          message: expect.stringMatching(/^geom: invalid GeoJSON geometry \(geometry: .*Polygon.*\)$/),
        },
      ],
    })
    const quoted = `"${JSON.stringify(point).replaceAll('"', '""')}"`
    const csv = `id,geom,geog,spot,shape\n4,${quoted},POINT(1 2),,SRID=4326;POINT(1 2)\n5,{,,,\n`
    const fromCsv = await app.request('POST', path, {
      token,
      body: csv,
      headers: { 'content-type': 'text/csv' },
    })
    expect(fromCsv.json).toMatchObject({
      inserted: 1,
      errors: [{ row: 2, message: 'geom: expected valid JSON' }],
    })
    expect((await send('GET', 'stop?fields=id,geom,geog,metres,shape,points')).json.items).toEqual([
      rows[0],
      {
        id: 4,
        geom: point,
        geog: { type: 'Point', coordinates: [1, 2] },
        metres: null,
        shape: { type: 'Point', coordinates: [1, 2] },
        points: null,
      },
    ])
  })

  test('are stored with their type and reference system', async () => {
    await send('POST', 'stop', { id: 1, geom: point, geog: point, metres: point, shape: point })
    expect(
      await app.sql(`
        select "Ext 1".st_asewkt(geom) as geom, "Ext 1".st_asewkt(geog) as geog,
          "Ext 1".st_asewkt(metres) as metres, "Ext 1".st_asewkt(shape) as shape
        from stop`),
    ).toEqual([
      {
        geom: 'SRID=4326;POINT(13.404954 52.520008)',
        geog: 'SRID=4326;POINT(13.404954 52.520008)',
        metres: 'SRID=25833;POINT(13.404954 52.520008)',
        shape: 'SRID=4326;POINT(13.404954 52.520008)',
      },
    ])
  })

  test('are accepted as text that PostGIS reads', async () => {
    const body = { id: 1, geom: 'SRID=4326;POINT(1 2)', geog: 'POINT(1 2)', metres: 'SRID=25833;POINT(3 4)' }
    const created = await send('POST', 'stop', body)
    expect(created.json).toMatchObject({
      geom: { type: 'Point', coordinates: [1, 2] },
      geog: { type: 'Point', coordinates: [1, 2] },
      metres: { type: 'Point', coordinates: [3, 4] },
    })
  })

  test('without a GeoJSON form do not break the list', async () => {
    await app.sql(`
      set search_path to "Ext 1", public;
      insert into stop (id, shape) values
        (1, 'CIRCULARSTRING(0 0,1 1,2 0)'), (2, 'CURVEPOLYGON((0 0,1 1,1 0,0 0))'),
        (3, 'POLYHEDRALSURFACE(((0 0,1 1,1 0,0 0)))'), (4, 'TIN(((0 0,1 1,1 0,0 0)))'),
        (5, 'POINT M (1 2 3)'), (6, st_makepoint('NaN', '-Infinity'));
      reset search_path`)
    const { status, json, text } = await send('GET', 'stop?fields=shape&sort=id')
    expect(status, text).toBe(200)
    expect(json.items.map(({ shape }: { shape: { type: string } }) => shape.type)).toEqual([
      ...['LineString', 'Polygon', 'GeometryCollection', 'GeometryCollection', 'Point', 'Point'],
    ])
    expect(json.items[5].shape.coordinates).toEqual([null, null])
  })

  const malformed: readonly (readonly [column: string, value: unknown])[] = [
    ['geom', {}],
    ['geom', { type: 'Point' }],
    ['geom', { type: 'Nope', coordinates: [1, 2] }],
    ['geom', { type: 'toString', coordinates: [1, 2] }],
    ['geom', { type: 5, coordinates: [1, 2] }],
    ['geom', { type: 'Point', coordinates: [1] }],
    ['geom', { type: 'Point', coordinates: ['1', 2] }],
    ['geom', { type: 'Point', coordinates: [1, null] }],
    ['geom', { type: 'Point', coordinates: 5 }],
    ['geom', { type: 'Point', coordinates: { 0: 1, 1: 2 } }],
    ['geom', { type: 'Point', coordinates: [[1, 2]] }],
    ['shape', { type: 'LineString', coordinates: [[1, 2]] }],
    ['shape', { type: 'LineString', coordinates: [1, 2] }],
    [
      'area',
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
        ],
      },
    ],
    [
      'area',
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [2, 0],
            [3, 3],
          ],
        ],
      },
    ],
    ['area', { type: 'GeometryCollection' }],
    ['area', { type: 'GeometryCollection', geometries: [5] }],
    ['shape', { type: 'Feature', geometry: point, properties: {} }],
    ['shape', { type: 'FeatureCollection', features: [] }],
    ['geog', { type: 'Point', coordinates: [181, 0] }],
    ['geog', { type: 'Point', coordinates: [0, -90.5] }],
    ['points', [{ type: 'Point' }]],
    ['geom', { ...point, crs: 5 }],
    ['geom', { ...point, crs: { type: 'name', properties: { name: 'bogus' } } }],
    // The reference system, the type and the dimensions of another column.
    ['geom', { ...point, crs: { type: 'name', properties: { name: 'EPSG:3857' } } }],
    ['metres', { ...point, crs: { type: 'name', properties: { name: 'EPSG:4326' } } }],
    ['geog', 'SRID=25833;POINT(1 2)'],
    ['geom', polygon],
    ['geog', polygon],
    ['spot', polygon],
    ['geom', { type: 'Point', coordinates: [1, 2, 3] }],
    ['high', point],
    // Values other than objects.
    ['geom', 'nonsense'],
    ['geom', ''],
    ['geom', 'POINT(1'],
    ['geog', 'POINT(1 2'],
    ['geog', 'CIRCULARSTRING(0 0,1 1,2 0)'],
    ['shape', 'POLYGON((0 0,1 1,2 2))'],
    ['geog', '{"type":"Point"}'],
    ['geom', 5],
    ['geog', true],
    ['geom', [1, 2]],
    ['geog', [point]],
  ]

  test.each(malformed)('are rejected with 400 when malformed: %s %j', async (column, value) => {
    const refused = await send('POST', 'stop', { id: 1, [column]: value })
    expect([refused.status, refused.json.error], refused.text).toEqual([400, 'invalid_geometry'])
    expect(refused.json).toMatchObject({ message: 'invalid GeoJSON geometry', data: expect.anything() })
  })

  test.each([
    ['geom', { type: 'Point' }],
    ['geom', polygon],
    ['geog', 'nonsense'],
  ])('are rejected with 400 in updates and batches when malformed: %s %j', async (column, value) => {
    await app.sql('insert into stop (id) values (9)')
    const body = { [column]: value }
    const operations = [
      { method: 'create', body: { id: 1 } },
      { method: 'create', body: { id: 2, ...body } },
      { method: 'update', id: 9, body },
    ]
    for (const refused of [
      await send('PATCH', 'stop/9', body),
      await send('POST', 'stop/batch', { operations }),
      await send('POST', 'stop/batch', { operations: operations.slice(2) }),
    ]) {
      expect([refused.status, refused.json.error], refused.text).toEqual([400, 'invalid_geometry'])
      expect(refused.json.message).toMatch(/^(operation\[\d\]: )?invalid GeoJSON geometry$/)
    }
    expect(await app.sql('select id, geom, geog from stop')).toEqual([{ id: 9, geom: null, geog: null }])
  })

  test('report the column and the fault', async () => {
    const response = await send('POST', 'stop', { id: 1, geog: { type: 'Point', coordinates: [200, 0] } })
    expect(envelope(response)).toEqual({
      code: 400,
      message: 'invalid GeoJSON geometry',
      error: 'invalid_geometry',
      data: {
        geog: {
          code: 'invalid_geometry',
          message: 'coordinates: expected a longitude from -180 to 180 and a latitude from -90 to 90',
        },
      },
    })
    const mismatch = await send('POST', 'stop', { id: 1, geom: polygon })
    expect(mismatch.json.data).toEqual({
      geom: {
        code: 'invalid_geometry',
        message: 'Geometry type (Polygon) does not match column type (Point)',
      },
    })
  })

  test('are rejected with 400 in a filter when malformed', async () => {
    const response = await send('GET', `stop?filter=${encodeURIComponent("geom = 'nonsense'")}`)
    expect([response.status, response.json.message]).toEqual([400, 'invalid GeoJSON geometry'])
  })

  test('are delivered by streams as GeoJSON, subject to policies', async () => {
    await using stream = await openEventStream(app.url, 'tables=stop,guarded', { token })
    const near = { type: 'Point', coordinates: [0.001, 0] }
    await send('POST', 'stop', { id: 1, geom: point, geog: point })
    await send('POST', 'guarded', {
      id: 1,
      place: near,
      metres: { type: 'Point', coordinates: [500_000, 1] },
    })
    await app.sql(`insert into guarded (id, place) values (2, 'POINT(50 50)'::"Ext 1".geography)`)
    await send('PATCH', 'guarded/1', { owner: 'x' })
    await send('DELETE', 'stop/1')
    const messages = await stream.next(4)
    expect(messages[0].record).toMatchObject({ id: 1, geom: point, geog: point })
    expect(messages[1].record).toMatchObject({ id: 1, place: near })
    expect(messages[2]).toMatchObject({ action: 'update', record: { owner: 'x', place: near } })
    expect(messages[3]).toMatchObject({ action: 'delete', table: 'stop' })
    expect(stream.text).not.toContain('crs')
  })

  test('are captured from plain SQL in the format of the data API', async () => {
    await using _stream = await openEventStream(app.url, 'tables=stop', { token })
    await app.sql(`
      insert into stop (id, geom, geog, area, metres, spot, shape) values (7,
        'SRID=4326;POINT(13.4 52.5)', 'SRID=4326;POINT(13.4 52.5)', 'POLYGON((0 0, 1 0, 1 1, 0 0))',
        'SRID=25833;POINT(392000 5820000)', 'POINT(1 2)', 'CIRCULARSTRING(0 0, 1 1, 2 0)')`)
    const [event] = await app.sql<{ record: object }>(
      `select record from basalt.outbox where table_name = 'stop' and record_key = '[7]'`,
    )
    const { json } = await app.request('GET', '/api/collections/stop/7', { token: await app.adminToken() })
    expect(event?.record).toEqual(json)
  })

  test('are GeoJSON in the arguments and results of functions', async () => {
    await app.sql(`
      create function moved(p "Ext 1".geometry, g "Ext 1".geography default null) returns "Ext 1".geometry
        language sql immutable as 'select p';
      create function visits(p "Ext 1".geography) returns table (at date, place "Ext 1".geography) language sql stable
        as $$ select date '2026-01-02', p $$;
      create function visited(p "Ext 1".geography) returns visit language sql stable
        as $$ select row('2026-01-02', p)::visit $$`)
    const point = { type: 'Point', coordinates: [13.4, 52.5] }
    const rpc = (name: string, body: object) => app.request('POST', `/api/rpc/${name}`, { token, body })
    expect((await rpc('moved', { p: point })).json).toEqual(point)
    expect((await rpc('moved', { p: 'POINT(13.4 52.5)', g: point })).json).toEqual(point)
    expect((await rpc('visits', { p: point })).json).toEqual([{ at: '2026-01-02', place: point }])
    expect((await rpc('visited', { p: point })).json).toEqual({ at: '2026-01-02', place: point })
    expect((await rpc('visited', { p: null })).json).toEqual({ at: '2026-01-02', place: null })
    const query = encodeURIComponent(JSON.stringify(point))
    expect((await app.request('GET', `/api/rpc/moved?p=${query}`, { token })).json).toEqual(point)
    const wrong = await rpc('moved', { p: { type: 'Point', coordinates: ['x', 1] } })
    expect(envelope(wrong)).toMatchObject({ code: 400, error: 'invalid_geometry' })
  })

  test('are objects in the schema document', async () => {
    const { json } = await app.request('GET', '/api/schema', { token })
    const columns = Object.fromEntries(
      json.tables['public.stop'].columns.map((column: { name: string }) => [column.name, column]),
    )
    expect(columns.geom).toMatchObject({
      jsonType: 'object',
      isGeometry: true,
      geometryType: 'Point',
      srid: 4326,
    })
    expect(columns.geog).toMatchObject({ jsonType: 'object', isGeography: true, geometryType: 'Point' })
    expect(columns.metres).toMatchObject({ jsonType: 'object', srid: 25833 })
    expect(columns.shape).toMatchObject({ isGeometry: true, isGeography: false, geometryType: '', srid: 0 })
    expect(columns.high).toMatchObject({ geometryType: 'Point', coordDimension: 3 })
    expect(json).toMatchObject({
      hasPostGIS: true,
      postGISVersion: expect.stringMatching(/^3\./),
      hasPostGISRaster: false,
      postGISExtensions: ['postgis'],
    })
  })
})

describe('aggregates of geometries', () => {
  const sendRequest = (parameters: Readonly<Record<string, string>>) =>
    app.request('GET', `/api/collections/stop?${new URLSearchParams(parameters)}`, { token })
  const box = (west: number, south: number, east: number, north: number) => ({
    type: 'Polygon',
    coordinates: [
      [
        [west, south],
        [west, north],
        [east, north],
        [east, south],
        [west, south],
      ],
    ],
  })

  beforeEach(() =>
    app.sql(`insert into city values (1, 'Berlin'), (2, 'Rome'), (3, 'Nowhere');
      insert into stop (id, city_id, geom, geog) values
        (1, 1, 'SRID=4326;POINT(0 0)', 'POINT(10 10)'), (2, 1, 'SRID=4326;POINT(2 4)', 'POINT(20 30)'),
        (3, 2, 'SRID=4326;POINT(7 8)', null), (4, 3, null, null)`),
  )

  test('are GeoJSON', async () => {
    const { json } = await sendRequest({ aggregate: 'bbox(geom),centroid(geom),bbox(geog),centroid(geog)' })
    expect(json).toEqual({
      results: [
        {
          bbox_geom: box(0, 0, 7, 8),
          centroid_geom: { type: 'Point', coordinates: [3, 4] },
          bbox_geog: box(10, 10, 20, 30),
          centroid_geog: { type: 'Point', coordinates: [15, 20] },
        },
      ],
    })
  })

  test('are computed for each group', async () => {
    const query = { aggregate: 'count(geom),bbox(geom),centroid(geom)', group: 'city_id' }
    const { json } = await sendRequest({ ...query, groupSort: '-city_id' })
    expect(json.results).toEqual([
      { city_id: 3, count_geom: 0, bbox_geom: null, centroid_geom: null },
      {
        city_id: 2,
        count_geom: 1,
        bbox_geom: { type: 'Point', coordinates: [7, 8] },
        centroid_geom: { type: 'Point', coordinates: [7, 8] },
      },
      {
        city_id: 1,
        count_geom: 2,
        bbox_geom: box(0, 0, 2, 4),
        centroid_geom: { type: 'Point', coordinates: [1, 2] },
      },
    ])
    expect(envelope(await sendRequest({ ...query, groupSort: 'bbox_geom' }))).toEqual({
      code: 400,
      error: 'invalid_parameter',
      message: 'groupSort: bbox_geom has no order',
    })
  })

  test('are not supported as facets', async () => {
    expect(envelope(await sendRequest({ facets: 'geom' }))).toEqual({
      code: 400,
      error: 'unsupported_facet',
      message: 'unsupported facet column "geom" with type ""Ext 1".geometry(Point,4326)"',
    })
  })

  test('are exported as GeoJSON', async () => {
    const file = async (name: string) =>
      (await app.request('GET', `/api/collections/stop/${name}?fields=id,geom&filter=id>2`, { token })).text
    expect(await file('export.csv')).toBe('id,geom\n3,"{""type"":""Point"",""coordinates"":[7,8]}"\n4,\n')
    expect(await file('export.ndjson')).toBe(
      '{"id":3,"geom":{"type":"Point","coordinates":[7,8]}}\n{"id":4,"geom":null}\n',
    )
  })
})
