// The calls of a plan through the AI SDK of Vercel, with spans exported to a file of OTLP JSON.
//
//     node vercel_ai.mjs FOLDER {5,7,7-legacy}
import { appendFileSync, readFileSync } from "node:fs";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import * as ai from "ai";
import * as mocks from "ai/test";

const [folder, version] = process.argv.slice(2);
const exporter = {
  export(spans, done) {
    const line = Buffer.from(JsonTraceSerializer.serializeRequest(spans)).toString("utf-8");
    appendFileSync(`${folder}/spans.jsonl`, `${line}\n`);
    done({ code: 0 });
  },
  async shutdown() {},
};
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(provider);
if (version !== "5") {
  const otel = await import("@ai-sdk/otel");
  ai.registerTelemetry(version === "7" ? new otel.OpenTelemetry() : new otel.LegacyOpenTelemetry());
}

function result(call) {
  if (call.kind === "error") throw new Error("refused");
  const tools = (call.reply.tool_calls ?? []).map((one) => ({
    type: "tool-call",
    toolCallId: one.id,
    toolName: one.function.name,
    input: one.function.arguments,
  }));
  const spoken = call.reply.content ? [{ type: "text", text: call.reply.content }] : [];
  const reason = { tool_calls: "tool-calls" }[call.finish_reason] ?? call.finish_reason;
  const counted = (total) => (version === "5" ? total : { total });
  return {
    content: [...spoken, ...tools],
    finishReason: version === "5" ? reason : { unified: reason, raw: reason },
    usage: { inputTokens: counted(7), outputTokens: counted(5), totalTokens: 12 },
    response: { id: call.response_id, modelId: call.served_model, timestamp: new Date(0) },
    warnings: [],
  };
}

function telemetryOf(call) {
  const names = { userId: call.user, sessionId: call.conversation, arm: "test" };
  if (version === "5") return { experimental_telemetry: { isEnabled: true, metadata: names } };
  const included = { userId: true, sessionId: true, arm: true };
  return { runtimeContext: names, telemetry: { includeRuntimeContext: included } };
}

const Mock = version === "5" ? mocks.MockLanguageModelV2 : mocks.MockLanguageModelV4;
const find_parcel = ai.tool({ inputSchema: ai.jsonSchema({ type: "object" }) });
for (const call of JSON.parse(readFileSync(`${folder}/plan.json`, "utf-8"))) {
  const model = new Mock({
    provider: "openai.chat",
    modelId: call.model,
    supportedUrls: { "image/*": [/.*/] },
    doGenerate: async () => result(call),
  });
  const request = { model, messages: call.messages, maxRetries: 0, tools: { find_parcel }, ...telemetryOf(call) };
  // From version 7 only the older attributes have the context; otherwise the application's own span does.
  const names = version === "7" ? { "session.id": call.conversation, "user.id": call.user } : {};
  await provider.getTracer("parcel-bot").startActiveSpan("turn", { attributes: names }, async (span) => {
    try {
      await ai.generateText({ ...request, allowSystemInMessages: true });
    } catch (error) {
      if (call.kind !== "error") throw error;
    }
    span.end();
  });
}
await provider.shutdown();
