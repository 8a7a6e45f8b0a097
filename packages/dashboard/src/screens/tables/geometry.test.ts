import { expect, test } from 'vitest'
import { frameOf, shapesOf } from './geometry.ts'

test('dashboard › tables › shapesOf › returns dots, lines and rings of GeoJSON', () => {
  const collection = {
    type: 'GeometryCollection',
    geometries: [
      { type: 'Point', coordinates: [1, 2, 3] },
      {
        type: 'MultiLineString',
        coordinates: [
          [
            [0, 0],
            [1, 1],
          ],
          [
            [2, 2],
            [3, 3],
          ],
        ],
      },
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [4, 0],
            [4, 4],
            [0, 0],
          ],
        ],
      },
    ],
  }
  const shapes = shapesOf(JSON.stringify(collection))
  expect(shapes?.map(({ kind, points }) => [kind, points.length])).toEqual([
    ['dot', 1],
    ['line', 2],
    ['line', 2],
    ['ring', 4],
  ])
  expect(frameOf(shapes ?? [])).toEqual({ left: -0.4, bottom: -0.4, width: 4.8, height: 4.8 })
})

test.each(['', '{', '1', '{"type":"Point"}', '{"type":"Point","coordinates":["a","b"]}', '{"type":"x"}'])(
  'dashboard › tables › shapesOf › returns undefined for invalid GeoJSON: %s',
  (text) => expect(shapesOf(text)).toBeUndefined(),
)

test('dashboard › tables › frameOf › returns a frame for no points and for one point', () => {
  expect(frameOf([])).toEqual({ left: -180, bottom: -90, width: 360, height: 180 })
  expect(frameOf([{ kind: 'dot', points: [[5, 5]] }])).toEqual({
    left: 4.5,
    bottom: 4.5,
    width: 1,
    height: 1,
  })
})
