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
    album: {
      Row: {
        id: Exact
        title: string
        price: Exact
        mood: 'calm' | 'loud' | null
        tags: (string | null)[]
        artist_id: number | null
      }
      Insert: {
        id?: ExactInput
        title: string
        price?: ExactInput
        mood?: 'calm' | 'loud' | null
        tags?: (string | null)[]
        artist_id?: number | null
      }
      Update: {
        id?: ExactInput
        title?: string
        price?: ExactInput
        mood?: 'calm' | 'loud' | null
        tags?: (string | null)[]
        artist_id?: number | null
      }
      Key: [ExactInput]
      Relations: {
        artist: { table: 'artist'; many: false } // artist_id
        task: { table: 'task'; many: true } // task.album_id
      }
    }
    album_names: {
      Row: {
        id: Exact
        title: string
      }
      Insert: never
      Update: never
      Key: []
      Relations: {
        task: { table: 'task'; many: true } // task.album_id
      }
    }
    artist: {
      Row: {
        id: number
        name: string
      }
      Insert: {
        name: string
      }
      Update: {
        name?: string
      }
      Key: [number]
      Relations: {
        album: { table: 'album'; many: true } // album.artist_id
      }
    }
    constructor: {
      Row: {
        id: number
        then: string | null
        'odd "name"': string | null
      }
      Insert: {
        id: number
        then?: string | null
        'odd "name"'?: string | null
      }
      Update: {
        id?: number
        then?: string | null
        'odd "name"'?: string | null
      }
      Key: [number]
      Relations: {}
    }
    pair: {
      Row: {
        a: string
        b: number
        v: string | null
      }
      Insert: {
        a: string
        b: number
        v?: string | null
      }
      Update: {
        a?: string
        b?: number
        v?: string | null
      }
      Key: [string, number]
      Relations: {}
    }
    task: {
      Row: {
        id: number
        title: string
        done: boolean
        album_id: Exact | null
        owner: string
      }
      Insert: {
        title: string
        done?: boolean
        album_id?: ExactInput | null
        owner?: string
      }
      Update: {
        title?: string
        done?: boolean
        album_id?: ExactInput | null
        owner?: string
      }
      Key: [number]
      Relations: {
        album: { table: 'album'; many: false } // album_id
      }
    }
  }
  enums: {
    mood: 'calm' | 'loud'
  }
  procedures: {
    add: { Args: { a: number | null; b?: number | null }; Returns: number | null }
    count_tasks: { Args: { prefix: string | null }; Returns: number | null }
    forget: { Args: Record<string, never>; Returns: undefined }
  }
}

type Tables = Database['tables']
export type Row<T extends keyof Tables> = Tables[T]['Row']
export type Insert<T extends keyof Tables> = Tables[T]['Insert']
export type Update<T extends keyof Tables> = Tables[T]['Update']
