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
        id: string
        name: string
        owner_id: string
        invitation: string
      }
      Insert: {
        id?: string
        name: string
        owner_id?: string
        invitation?: string
      }
      Update: {
        id?: string
        name?: string
        owner_id?: string
        invitation?: string
      }
      Key: [string]
      Relations: {
        member: { table: 'member'; many: true } // member.list_id
        todo: { table: 'todo'; many: true } // todo.list_id
      }
    }
    member: {
      Row: {
        list_id: string
        user_id: string
      }
      Insert: {
        list_id: string
        user_id: string
      }
      Update: {
        list_id?: string
        user_id?: string
      }
      Key: [string, string]
      Relations: {
        list: { table: 'list'; many: false } // list_id
      }
    }
    todo: {
      Row: {
        id: number
        list_id: string
        title: string
        done: boolean
        attachment: string | null
      }
      Insert: {
        list_id: string
        title: string
        done?: boolean
        attachment?: string | null
      }
      Update: {
        list_id?: string
        title?: string
        done?: boolean
        attachment?: string | null
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
    join_list: { Args: { invitation: string | null }; Returns: undefined }
  }
}

type Tables = Database['tables']
export type Row<T extends keyof Tables> = Tables[T]['Row']
export type Insert<T extends keyof Tables> = Tables[T]['Insert']
export type Update<T extends keyof Tables> = Tables[T]['Update']
