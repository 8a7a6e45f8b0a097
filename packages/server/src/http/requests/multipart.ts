/**
 * Parses a form of files and texts (RFC 7578), or of texts alone; returns undefined when the bytes are none.
 * The form is read into memory, so the caller must limit the body.
 */
export async function readForm(body: Buffer, contentType: string): Promise<FormData | undefined> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch {
    return undefined
  }
}
