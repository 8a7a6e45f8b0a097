import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { makeScratchDirectory } from './scratch-directory.ts'

/** Project folder with functions, and the package that they import. */
export interface FunctionsFolder extends Disposable {
  /** Folder of the functions, for `functions.folder`. */
  readonly path: string
  /** Folder of the project. */
  readonly project: string
  write(file: string, text: string): void
  remove(file: string): void
}

/** Makes a project folder. @param files texts of the functions, by file name */
export function makeFunctionsFolder(files: Readonly<Record<string, string>>): FunctionsFolder {
  const project = makeScratchDirectory('basalt-functions-')
  const release = cleanUpAfterKill({ directory: project })
  const path = join(project, 'functions')
  mkdirSync(join(project, 'node_modules', '@basaltdb'), { recursive: true })
  mkdirSync(path)
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  const source = new URL('../../functions', import.meta.url).pathname
  symlinkSync(source, join(project, 'node_modules', '@basaltdb', 'functions'))
  const write = (file: string, text: string) => writeFileSync(join(path, file), text)
  for (const [file, text] of Object.entries(files)) write(file, text)
  return {
    path,
    project,
    write,
    remove: (file) => rmSync(join(path, file)),
    [Symbol.dispose]() {
      rmSync(project, { recursive: true, force: true })
      release()
    },
  }
}
