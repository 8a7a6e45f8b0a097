import { describe, expect, test } from 'vitest'
import { AppError } from '../../../../lib/errors.ts'
import { takeDistanceSort } from './distance-sort.ts'
import { parseSpatial } from './spatial.ts'

function refusalOf(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (error instanceof AppError && error.status === 400) return error.message
    throw error
  }
  throw new Error('accepted')
}

const square = '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}'

describe('parseSpatial', () => {
  test('reads the column and the numbers of each filter', () => {
    const text = '{"type":"Point","coordinates":[1,2]}'
    expect(
      parseSpatial({
        near: ' place, 13.4 ,-5e1,.5',
        within: `"a,""b",${square}`,
        intersects: `shape,${text}`,
        bbox: 'place,-1,-2,+3,4.',
      }),
    ).toEqual([
      { kind: 'near', column: 'place', lng: 13.4, lat: -50, distance: 0.5 },
      { kind: 'within', column: 'a,"b', geometry: { value: JSON.parse(square), text: square } },
      { kind: 'intersects', column: 'shape', geometry: { value: JSON.parse(text), text } },
      { kind: 'bbox', column: 'place', minLng: -1, minLat: -2, maxLng: 3, maxLat: 4 },
    ])
  })

  test.each([
    ['near', '', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,2', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,2,3,4', 'near must use format: near=column,lng,lat,distance'],
    ['near', ',1,2,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,NaN,2,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,Infinity,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,1e999,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,0x1,2,3', 'near must use format: near=column,lng,lat,distance'],
    ['near', 'place,1,2,0', 'near distance must be greater than 0'],
    ['near', 'place,1,2,-3', 'near distance must be greater than 0'],
    ['bbox', 'place,1,2,3', 'bbox must use format: bbox=column,minLng,minLat,maxLng,maxLat'],
    ['bbox', 'place,170,0,-170,1', 'bbox minLng must be less than maxLng'],
    ['bbox', 'place,1,0,1,1', 'bbox minLng must be less than maxLng'],
    ['bbox', 'place,0,1,1,0', 'bbox minLat must be less than maxLat'],
    ['within', 'place', 'within must use format: within=column,{geojson}'],
    ['within', square, 'within must use format: within=column,{geojson}'],
    ['intersects', 'place', 'intersects must use format: intersects=column,{geojson}'],
    ['within', 'place,{"type":"Point","coordinates":[1,2]}', 'within only supports Polygon and MultiPolygon'],
    ['within', 'place,', 'invalid within geometry: invalid GeoJSON: expected JSON'],
    ['within', 'place,{', 'invalid within geometry: invalid GeoJSON: expected JSON'],
    ['within', 'place,[]', 'invalid within geometry: invalid GeoJSON: expected an object'],
    ['intersects', 'place,null', 'invalid intersects geometry: invalid GeoJSON: expected an object'],
    ['within', 'place,{}', 'invalid within geometry: GeoJSON geometry must include a type field'],
    ['within', 'place,{"type":1}', 'invalid within geometry: GeoJSON geometry must include a type field'],
    [
      'within',
      'place,{"type":"Circle"}',
      'invalid within geometry: unsupported GeoJSON geometry type "Circle"',
    ],
    [
      'within',
      'place,{"type":"Feature","geometry":null}',
      'invalid within geometry: GeoJSON Feature and FeatureCollection are not supported; pass geometry directly',
    ],
    [
      'intersects',
      'place,{"type":"FeatureCollection","features":[]}',
      'invalid intersects geometry: GeoJSON Feature and FeatureCollection are not supported; pass geometry directly',
    ],
    [
      'intersects',
      'place,{"type":"Point"}',
      'invalid intersects geometry: Point geometry requires a coordinates field',
    ],
    [
      'intersects',
      'place,{"type":"GeometryCollection"}',
      'invalid intersects geometry: GeometryCollection geometry requires a geometries field',
    ],
    [
      'within',
      `place,${square.replace('{', '{"crs":{"type":"name","properties":{"name":"EPSG:3857"}},')}`,
      'invalid within geometry: crs is not supported; coordinates are those of the column',
    ],
  ])('rejects %s=%s', (name, text, message) => {
    expect(refusalOf(() => parseSpatial({ [name]: text }))).toBe(message)
  })
})

describe('distance sort', () => {
  test.each([
    ['place.distance(1,2)', { column: 'place', lng: 1, lat: 2 }, ''],
    [' place.distance( -1.5 , 2e1 ) ,-name,id', { column: 'place', lng: -1.5, lat: 20 }, '-name,id'],
    ['"a.b, c".distance(1,2),id', { column: 'a.b, c', lng: 1, lat: 2 }, 'id'],
    ['a.b.DISTANCE(1,2)', { column: 'a.b', lng: 1, lat: 2 }, ''],
    ['name,-id', undefined, 'name,-id'],
    ['"x.distance(1,2)"', undefined, '"x.distance(1,2)"'],
    ['', undefined, ''],
  ])('is split from %j', (sort, distance, rest) => {
    expect(takeDistanceSort(sort)).toEqual({ distance, rest })
  })

  test.each([
    ['place.distance(1)', 'distance sort must use format: column.distance(lng,lat)'],
    ['place.distance(1,2,3)', 'distance sort must use format: column.distance(lng,lat)'],
    ['place.distance(a,b)', 'distance sort must use format: column.distance(lng,lat)'],
    ['place.distance(1,2', 'distance sort must use format: column.distance(lng,lat)'],
    ['place.distance(1,2)x', 'distance sort must use format: column.distance(lng,lat)'],
    ['.distance(1,2)', 'distance sort must use format: column.distance(lng,lat)'],
    ['-place.distance(1,2)', 'distance sort does not support +/- prefixes'],
    ['+place.distance(1,2)', 'distance sort does not support +/- prefixes'],
    ['name,place.distance(1,2)', 'distance sort term must be the first sort term'],
    ['place.distance(1,2),other.distance(1,2)', 'sort may include at most one distance term'],
  ])('rejects %j', (sort, message) => {
    expect(refusalOf(() => takeDistanceSort(sort))).toBe(message)
  })
})
