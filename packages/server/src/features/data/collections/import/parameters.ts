import { collectionErrors } from '../errors.ts'
import { readParameters } from '../parse/parameters.ts'

/** Options of an import. */
export interface ImportOptions {
  /** True if accepted rows stay when others are rejected. */
  readonly isPartial: boolean
  /** Treatment of rows whose primary key exists. Undefined: they are rejected. */
  readonly onConflict: 'skip' | 'update' | undefined
  /** True if everything is undone at the end. */
  readonly isDryRun: boolean
}

/** @throws AppError naming the parameter and what was expected */
export function parseImportOptions(queryString: string): ImportOptions {
  const parameters = readParameters(queryString, ['mode', 'on_conflict', 'dryRun'])
  const mode = choose(parameters.mode, 'mode', ['full', 'partial'])
  return {
    isPartial: mode === 'partial',
    onConflict: choose(parameters.on_conflict, 'on_conflict', ['skip', 'update']),
    isDryRun: choose(parameters.dryRun, 'dryRun', ['true', 'false']) === 'true',
  }
}

function choose<const Choice extends string>(
  value: string | undefined,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  if (value === undefined) return undefined
  const chosen = choices.find((choice) => choice === value)
  if (chosen === undefined) {
    throw collectionErrors.invalidParameter(
      `${name}: expected ${choices.map((choice) => `"${choice}"`).join(' or ')}`,
    )
  }
  return chosen
}
