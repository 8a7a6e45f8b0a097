import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { TableInfo } from './api.ts'

/** Reads the description again if the rows have other columns, because the open table was altered. */
export function useNewColumns({ table, columns }: TableInfo, read: readonly string[] | undefined): void {
  const queries = useQueryClient()
  const isAltered = read !== undefined && read.join('\0') !== columns.map(({ name }) => name).join('\0')
  useEffect(() => {
    if (isAltered) void queries.invalidateQueries({ queryKey: ['tables', table, 'info'] })
  }, [queries, table, isAltered])
}
