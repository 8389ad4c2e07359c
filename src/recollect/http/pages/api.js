// Show the OpenAPI document without anything from outside.
const main = document.querySelector("#routes");

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function resolved(schema, document_) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { title: name, ...document_.components.schemas[name] } : schema;
}

function kindOf(schema) {
  const name = schema.$ref?.split("/").pop();
  if (name) return name;
  return schema.type === "array" ? `list of ${kindOf(schema.items ?? {})}` : (schema.type ?? "any");
}

function fields(schema, document_) {
  const table = document.createElement("table");
  for (const [name, part] of Object.entries(schema?.properties ?? {})) {
    const row = document.createElement("tr");
    const kinds = part.anyOf ?? [part];
    const type = kinds.map((kind) => kindOf(kind)).join(" or ");
    row.append(element("th", name), element("td", type));
    table.append(row);
  }
  return table;
}

function operation(path, method, route, document_) {
  const section = document.createElement("section");
  section.append(element("h2", `${method.toUpperCase()} ${path}`), element("p", route.summary ?? ""));
  for (const parameter of route.parameters ?? []) {
    section.append(element("p", `${parameter.in} parameter: ${parameter.name}`, "parameter"));
  }
  const body = route.requestBody?.content?.["application/json"]?.schema;
  if (body) section.append(element("h3", "Body"), fields(resolved(body, document_), document_));
  const answer = route.responses?.["200"]?.content?.["application/json"]?.schema;
  if (answer) section.append(element("h3", "Answer"), fields(resolved(answer, document_), document_));
  return section;
}

const openapi = await (await fetch("/openapi.json")).json();
main.replaceChildren();
for (const [path, methods] of Object.entries(openapi.paths)) {
  for (const [method, route] of Object.entries(methods)) main.append(operation(path, method, route, openapi));
}
