/** @internal Without types a text in place of a list goes far. @throws TypeError that names the option */
export function checkList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} is a list, as in { ${name}: ['a'] }`)
}
