/** Returns the fields that a browser sends for the form with this id before the user changes it. */
export function inputsOf(html: string, formId: string): Record<string, string> {
  const form = new RegExp(`<form[^>]* id="${formId}"[\\s\\S]*?</form>`).exec(html)?.[0] ?? ''
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)]
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, decode(value)]))
}

/** Returns the first attribute of this name. */
export function attributeOf(html: string, name: string): string | undefined {
  return new RegExp(` ${name}="([^"]*)"`).exec(html)?.[1]
}

function decode(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
}
