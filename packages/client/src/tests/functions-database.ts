// Made by `basalt types` from the database; changes by hand are lost.

/** An int8 or a numeric: a number where one has all of its digits, else the digits. `BigInt(value)` takes both. */
export type Exact = number | string
export type ExactInput = number | string | bigint
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
/** GeoJSON (RFC 7946). */
export interface Geometry {
  type: string
  coordinates?: unknown
  geometries?: Geometry[]
}

export interface Database {
  tables: {
    note: {
      Row: {
        id: number
        owner_id: string
        body: string
      }
      Insert: {
        id?: number
        owner_id?: string
        body: string
      }
      Update: {
        id?: number
        owner_id?: string
        body?: string
      }
      Key: [number]
      Relations: {}
    }
  }
  enums: {

  }
  procedures: {

  }
  functions: {
    'GET /search': { Input: { limit?: number; tags?: string[] }; Output: unknown }
    'DELETE /shops/:shop': { Input: undefined; Output: unknown }
    'POST /shops/:shop/orders': { Input: { quantity: number; note?: string }; Output: { shop: string; quantity: number; key: string | null } }
  }
}

type Tables = Database['tables']
export type Row<T extends keyof Tables> = Tables[T]['Row']
export type Insert<T extends keyof Tables> = Tables[T]['Insert']
export type Update<T extends keyof Tables> = Tables[T]['Update']
