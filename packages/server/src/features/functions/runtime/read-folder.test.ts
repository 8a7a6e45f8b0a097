import { describe, expect, test } from 'vitest'
import { makeFunctionsFolder } from '../../../../test/functions-folder.ts'
import { readFolder } from './read-folder.ts'

const imports = `import { before, route } from '@basaltdb/functions'\n`

describe('readFolder', () => {
  test('returns the routes of a folder in the order of their paths, without a server', async () => {
    using folder = makeFunctionsFolder({
      'b.ts': `${imports} export const b = route('GET /b/:id', { access: 'user', input: { type: 'object', x: 1 } }, () => 1)`,
      'a.ts': `${imports} export default route('POST /a', { access: 'admin', output: { type: 'null' } }, () => null)
        export const hook = before('note', 'create', () => {})
        console.log('printed')`,
    })
    expect(await readFolder(folder.path, 64)).toEqual([
      { name: 'a', method: 'POST', path: '/a', access: 'admin', input: undefined, output: { type: 'null' } },
      {
        name: 'b',
        method: 'GET',
        path: '/b/:id',
        access: 'user',
        input: { type: 'object' },
        output: undefined,
      },
    ])
  })

  test('rejects a folder whose files cannot be loaded, with the file', async () => {
    using folder = makeFunctionsFolder({ 'broken.ts': `throw new Error('broken')` })
    await expect(readFolder(folder.path, 64)).rejects.toThrow(/^broken\.ts: Error: broken/)
  })

  test('rejects two routes with the same path, as the server does', async () => {
    const same = `${imports} export const one = route('GET /same', { access: 'user' }, () => 1)`
    using folder = makeFunctionsFolder({ 'a.ts': same, 'b.ts': same.replace('one', 'two') })
    await expect(readFolder(folder.path, 64)).rejects.toThrow('b.ts: a.ts serves GET /same, too')
  })

  test('rejects a schedule without a day on which it runs, as the server does', async () => {
    using folder = makeFunctionsFolder({
      'never.ts': `import { schedule } from '@basaltdb/functions'\nexport const never = schedule('0 0 30 2 *', () => {})`,
    })
    await expect(readFolder(folder.path, 64)).rejects.toThrow('never.ts: never: invalid cron expression')
  })

  test('rejects a folder whose code ends its process', async () => {
    using folder = makeFunctionsFolder({ 'exit.ts': 'process.exit(3)' })
    await expect(readFolder(folder.path, 64)).rejects.toThrow('it has ended with code 3')
  })
})
