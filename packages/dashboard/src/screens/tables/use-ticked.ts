import { useState } from 'react'
import type { GridModel } from './grid-model.ts'

/** Returns the keys of ticked rows. They stay ticked while further rows are loaded. */
export function useTicked() {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  return {
    keys,
    clear: () => setKeys(new Set()),
    toggle(key: string) {
      const next = new Set(keys)
      if (!next.delete(key)) next.add(key)
      setKeys(next)
    },
    toggleAll: (model: GridModel) =>
      setKeys(keys.size >= model.count ? new Set() : new Set(indexesOf(model).map(model.key))),
  }
}

/** Returns the positions of ticked rows in the grid. */
export function tickedIndexes(model: GridModel, keys: ReadonlySet<string>): number[] {
  return indexesOf(model).filter((index) => keys.has(model.key(index)))
}

const indexesOf = ({ count }: GridModel) => Array.from({ length: count }, (_, index) => index)
