import { integer, text, webAddress } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `telemetry`, for traces of requests and statements. */
export const telemetryConfig = Type.Object({
  otlp_endpoint: webAddress(
    'Base address of an OTLP/HTTP collector, such as http://127.0.0.1:4318, which receives traces of requests and statements. Empty means none.',
  ),
  otlp_headers: text('', 'Headers of requests to the collector, separated by commas: name=value.', {
    secret: true,
    pattern: '^([^=,\\s]+=[^,\\r\\n]*(,[^=,\\s]+=[^,\\r\\n]*)*)?$',
    expects: 'a list such as authorization=Bearer abc',
  }),
  service_name: text('basalt', 'Name of the service in traces.', { minLength: 1, expects: 'a name' }),
  sample_percent: integer(
    100,
    'Percentage of requests to trace among those without a trace of the client.',
    0,
    100,
  ),
})

export type TelemetryConfig = Static<typeof telemetryConfig>
