import { collectionErrors } from '../errors.ts'
import { readParameters } from '../parse/parameters.ts'

/** What an import is asked to do. */
export interface ImportOptions {
  /** Whether the good rows stay when others are refused. */
  readonly isPartial: boolean
  /** What happens to rows whose primary key exists; undefined: they are refused. */
  readonly onConflict: 'skip' | 'update' | undefined
  /** Whether everything is undone at the end. */
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
