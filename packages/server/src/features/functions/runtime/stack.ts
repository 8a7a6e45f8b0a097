import { realpathSync } from 'node:fs'
import { component, nullable } from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Maximum number of frames of a stack. */
const frameLimit = 20
/** Maximum number of characters of a line that is read. */
const lineLimit = 1000

/**
 * Position in the operator's code. Types are removed in place, so lines and columns are those of the file as it was written.
 */
export const StackFrame = component(
  'FunctionStackFrame',
  Type.Object({
    file: Type.String({ description: 'Path in the folder of the functions: `shop.ts`.' }),
    line: Type.Integer(),
    column: Type.Integer(),
    deploy: nullable(Type.String(), { description: 'Hash of the deploy. null for a folder of the machine.' }),
    caller: nullable(Type.String(), { description: 'Name of the JavaScript function, if it has one.' }),
  }),
)
export type StackFrame = Static<typeof StackFrame>

/** Returns the frames of a stack that are in the operator's code. @param folder of the functions on this machine */
export function readFrames(stack: string, folder: string): StackFrame[] {
  const folders = [folder, realFolder(folder)]
  return stack
    .split('\n')
    .flatMap((text) => readFrame(text, folders) ?? [])
    .slice(0, frameLimit)
}

/** Reads a line such as `    at async checkout (file:///x/shop.ts:3:5)`, or the first one of a faulty file: `file:///x/shop.ts:3`. */
function readFrame(text: string, folders: readonly string[]): StackFrame | undefined {
  if (text.length > lineLimit) return undefined
  const [position, line, column = '1'] = /:(\d+)(?::(\d+))?\)?$/.exec(text) ?? []
  const start = /file:\/\/(?=\/)|(?<=\(|\bat )\//.exec(text)
  if (position === undefined || start === null) return undefined
  const isUrl = start[0] !== '/'
  const path = text.slice(start.index + (isUrl ? start[0].length : 0), text.length - position.length)
  const found = locate(isUrl ? decode(path) : path, folders)
  if (found === undefined || found.file.split('/').includes('node_modules')) return undefined
  const [, caller = ''] = /^\s*at (?:async )?(.+) \($/.exec(text.slice(0, start.index)) ?? []
  return { ...found, line: Number(line), column: Number(column), caller: isUnnamed(caller) ? null : caller }
}

/** Returns true for a function without a name. The runtime calls the function of an export as a method. */
const isUnnamed = (caller: string) => caller === '' || caller === 'Object.handler'

/** Returns the deploy and the file of a path; undefined for a path of other code. */
function locate(path: string, folders: readonly string[]): Pick<StackFrame, 'deploy' | 'file'> | undefined {
  // Another node may have another folder for deploys.
  const [, deploy, file] = /\/functions\/([0-9a-f]{64})\/functions\/(.+)$/.exec(path) ?? []
  if (deploy !== undefined && file !== undefined) return { deploy, file }
  const folder = folders.find((each) => path.startsWith(`${each}/`))
  return folder === undefined ? undefined : { deploy: null, file: path.slice(folder.length + 1) }
}

/** Returns the folder as Node.js names its modules. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
