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
    list: {
      Row: {
        id: number
        name: string
        owner_id: string
      }
      Insert: {
        name: string
        owner_id?: string
      }
      Update: {
        name?: string
        owner_id?: string
      }
      Key: [number]
      Relations: {
        task: { table: 'task'; many: true } // task.list_id
      }
    }
    task: {
      Row: {
        id: number
        title: string
        done: boolean
        list_id: number | null
        owner_id: string
      }
      Insert: {
        title: string
        done?: boolean
        list_id?: number | null
        owner_id?: string
      }
      Update: {
        title?: string
        done?: boolean
        list_id?: number | null
        owner_id?: string
      }
      Key: [number]
      Relations: {
        list: { table: 'list'; many: false } // list_id
      }
    }
  }
  enums: {

  }
  procedures: {

  }
}

type Tables = Database['tables']
export type Row<T extends keyof Tables> = Tables[T]['Row']
export type Insert<T extends keyof Tables> = Tables[T]['Insert']
export type Update<T extends keyof Tables> = Tables[T]['Update']
