import { useState } from 'react'
import type { GridModel } from './grid-model.ts'

/** Rows whose boxes are ticked, by their keys: they stay ticked while further rows are loaded. */
export function useTicked(model: GridModel) {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const all = () => Array.from({ length: model.count }, (_, index) => index)
  return {
    keys,
    /** Their places in the grid. */
    indexes: () => all().filter((index) => keys.has(model.key(index))),
    clear: () => setKeys(new Set()),
    toggle(index: number) {
      const next = new Set(keys)
      const key = model.key(index)
      if (!next.delete(key)) next.add(key)
      setKeys(next)
    },
    toggleAll: () => setKeys(keys.size >= model.count ? new Set() : new Set(all().map(model.key))),
  }
}
