/**
 * @internal Checks that an option is a list. Without types, a string in its place would pass unnoticed for long.
 * @throws TypeError that names the option
 */
export function checkList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} is a list, as in { ${name}: ['a'] }`)
}
