import { describe, expect, test } from 'vitest'
import type { Column } from '../../../database/catalog/model.ts'
import type { TypeName } from '../../../database/sql.ts'
import { describeColumn } from './column.ts'

const vectorTypes = ['vector', 'halfvec', 'sparsevec']

/** Returns a column as the catalog of a database with the extensions would have it. */
function column(base: string, typeName: string): Column {
  const isVector = vectorTypes.includes(base)
  return {
    name: 'place',
    position: 1,
    type: {
      // PostgreSQL prints such names, as the branded type requires.
      name: base as TypeName,
      base,
      element: undefined,
      attributes: undefined,
      range: undefined,
      spatialSchema: isVector ? undefined : 'public',
      vectorSchema: isVector ? 'public' : undefined,
      isText: false,
      hasEquality: true,
      hasOrder: false,
      isNotNull: false,
      default: undefined,
      operators: undefined,
      json: 'object',
      enumLabels: undefined,
    },
    // PostgreSQL would print it in this form.
    typeName: typeName as TypeName,
    nullable: true,
    default: undefined,
    identity: undefined,
    isGenerated: false,
    comment: undefined,
    callersMaySelect: true,
    anonymousMaySelect: false,
    callersMayInsert: false,
    callersMayUpdate: false,
    anonymousMayInsert: false,
    anonymousMayUpdate: false,
  }
}

function describeType(base: string, typeName: string): object {
  return describeColumn({ primaryKey: [] }, column(base, typeName), 'caller')
}

describe('describeColumn of a PostGIS column', () => {
  test.each([
    ['geometry', 'geometry(Point,4326)', 'Point', 4326, 2, false],
    ['geometry', 'geometry(MultiPolygonZM,3857)', 'MultiPolygon', 3857, 4, false],
    ['geometry', 'geometry(LineStringZ)', 'LineString', 0, 3, false],
    ['geometry', 'geometry(PointM,25832)', 'Point', 25832, 3, false],
    ['geometry', 'geometry', '', 0, 2, false],
    ['geometry', 'public.geometry(Geometry,4326)', 'Geometry', 4326, 2, false],
    ['geography', 'geography(Point,4326)', 'Point', 4326, 2, true],
    ['geography', 'geography', '', 4326, 2, true],
  ])('describes %s as %s', (base, typeName, geometryType, srid, coordDimension, isGeography) => {
    expect(describeType(base, typeName)).toMatchObject({
      type: typeName,
      isGeometry: true,
      isGeography,
      geometryType,
      srid,
      coordDimension,
      isVector: false,
    })
  })
})

test('describeColumn › gives a PostGIS Raster column a kind of its own', () => {
  expect(describeType('raster', 'raster')).toMatchObject({
    isRaster: true,
    isGeometry: false,
    isGeography: false,
  })
  expect(describeType('geometry', 'geometry')).not.toHaveProperty('isRaster')
})

describe('describeColumn of a pgvector column', () => {
  test.each([
    ['vector', 'vector(1536)', 1536],
    ['halfvec', 'halfvec(3072)', 3072],
    ['sparsevec', 'extensions.sparsevec(30000)', 30_000],
  ])('includes the number of dimensions: %s, %s', (base, typeName, vectorDim) => {
    expect(describeType(base, typeName)).toMatchObject({ isVector: true, vectorDim })
  })

  test('has no number of dimensions when any is allowed', () => {
    expect(describeType('vector', 'vector')).toMatchObject({ isVector: true, isGeometry: false })
    expect(describeType('vector', 'vector')).not.toHaveProperty('vectorDim')
  })
})
