import type { BaseLocationHook, BaseSearchHook } from 'wouter'
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location'

// wouter applies `decodeURI` to what these return, and `URLSearchParams` or the screen decodes it once more: "%2541",
// which is the text "%41", became "A". Escaped, the path and the parameters stay as in the address.

const escaped = (part: string) => part.replaceAll('%', '%25')

export const useEncodedLocation: BaseLocationHook = (options) => {
  const [path, navigate] = useBrowserLocation(options)
  return [escaped(path), navigate]
}

export const useEncodedSearch: BaseSearchHook = (options) => escaped(useSearch(options))
